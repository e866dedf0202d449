// Collectives: queued on the stream they are given, refused where the documentation refuses them.
//
// On Atlas A2 reductions take int8..int64, float16, bfloat16 and float32 (prod neither int16 nor
// bfloat16); other collectives move any type. SIMCANN_FAULT names a collective that fails.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

#include "channel.hpp"
#include "halves.hpp"
#include "simcann.hpp"

using namespace simcann;

namespace {

enum Type { kInt8, kInt16, kInt32, kFloat16, kFloat32, kInt64, kUint64, kUint8, kUint16, kUint32,
            kFloat64, kBfloat16, kInt128 };
enum Operation { kSum, kProd, kMax, kMin };

// a communicator has two buffers of HCCL_BUFFSIZE MiB (200) in the card's memory
struct Communicator {
  explicit Communicator(std::shared_ptr<Channel> opened) : channel(std::move(opened)) {}
  ~Communicator() { simcann_take(device, -bytes); }

  std::shared_ptr<Channel> channel;
  int device = -1;
  int64_t bytes = 0;
};
struct RootInfo {
  char internal[4108];
};

size_t width(int type) {
  switch (type) {
    case kInt8: case kUint8: return 1;
    case kInt16: case kFloat16: case kUint16: case kBfloat16: return 2;
    case kInt32: case kFloat32: case kUint32: return 4;
    case kInt64: case kUint64: case kFloat64: return 8;
    case kInt128: return 16;
    default: return type >= 14 && type <= 17 ? 1 : 0;  // the 8-bit floats
  }
}

bool reducible(int type, int operation) {
  switch (type) {
    case kInt8: case kInt32: case kInt64: case kFloat16: case kFloat32: return true;
    case kInt16: case kBfloat16: return operation != kProd;
    default: return false;
  }
}

template <class T>
T apply(T a, T b, int operation) {
  switch (operation) {
    case kSum: return static_cast<T>(a + b);
    case kProd: return static_cast<T>(a * b);
    case kMax: return a > b || a != a ? a : b;  // NaN wins
    default: return a < b || a != a ? a : b;
  }
}

template <class T>
void combine(char* total, const char* piece, size_t bytes, int operation) {
  for (size_t at = 0; at < bytes; at += sizeof(T)) {
    T a, b;
    memcpy(&a, total + at, sizeof a);
    memcpy(&b, piece + at, sizeof b);
    a = apply<T>(a, b, operation);
    memcpy(total + at, &a, sizeof a);
  }
}

template <float (*Up)(uint16_t), uint16_t (*Down)(float)>
void combine_halves(char* total, const char* piece, size_t bytes, int operation) {
  for (size_t at = 0; at < bytes; at += 2) {
    uint16_t a, b;
    memcpy(&a, total + at, 2);
    memcpy(&b, piece + at, 2);
    a = Down(apply<float>(Up(a), Up(b), operation));
    memcpy(total + at, &a, 2);
  }
}

// overflow is the largest number, and NaN 0, on cards that have no others
void saturate(int type, char* values, size_t bytes) {
  size_t size = width(type);
  if (!simcann_saturates() || (type != kFloat32 && type != kFloat16 && type != kBfloat16)) return;
  for (size_t at = 0; at < bytes; at += size) {
    float value, most = std::numeric_limits<float>::max();
    uint16_t half;
    memcpy(type == kFloat32 ? static_cast<void*>(&value) : &half, values + at, size);
    if (type == kFloat16) value = from_half(half), most = 65504.0f;
    if (type == kBfloat16) value = from_bfloat(half), most = from_bfloat(0x7f7f);
    value = value != value ? 0.0f : std::clamp(value, -most, most);
    half = type == kFloat16 ? to_half(value) : to_bfloat(value);
    memcpy(values + at, type == kFloat32 ? static_cast<void*>(&value) : &half, size);
  }
}

void combine(int type, char* total, const char* piece, size_t bytes, int operation) {
  switch (type) {
    case kInt8: return combine<int8_t>(total, piece, bytes, operation);
    case kInt16: return combine<int16_t>(total, piece, bytes, operation);
    case kInt32: return combine<int32_t>(total, piece, bytes, operation);
    case kInt64: return combine<int64_t>(total, piece, bytes, operation);
    case kFloat32: return combine<float>(total, piece, bytes, operation);
    case kFloat16: return combine_halves<from_half, to_half>(total, piece, bytes, operation);
    default: return combine_halves<from_bfloat, to_bfloat>(total, piece, bytes, operation);
  }
}

// Queues a collective; faults and errors are those of the communicator from then on.
int queued(void* handle, void* stream, std::function<Result(Channel&)> body) {
  auto channel = static_cast<Communicator*>(handle)->channel;
  if (channel->error) return channel->error;
  if (simcann_check_alive(static_cast<Communicator*>(handle)->device)) return kInternal;
  auto due = [rank = channel->rank](const char* kind) { return simcann_fault(kind, rank) != 0; };
  bool stall = due("stall"), die = due("die"), refuse = due("refuse");
  queue(stream, [=] {
    if (die) kill(getpid(), SIGKILL);
    if (refuse) {
      channel->error = kInternal;
      return static_cast<aclError>(kAiCore);
    }
    if (stall) {  // never enters: the others run into their limit, and so does this one
      const char* limit = getenv("SIMCANN_HCCL_TIMEOUT");
      usleep(static_cast<useconds_t>(1e6 * (limit && *limit ? atof(limit) : 120.0)));
      channel->error = kTimeout;
      return static_cast<aclError>(kAiCore);
    }
    if (channel->error) return static_cast<aclError>(kAiCore);
    Result result = body(*channel);
    if (result != kSuccess) channel->error = result;
    return static_cast<aclError>(result == kSuccess ? kOk : kAiCore);
  });
  return kSuccess;
}

// Combines elements [first, first + count) of everyone's `total` elements into `out`.
int reduced(void* handle, void* stream, const void* mine, void* out, size_t total, size_t first,
            size_t count, int type, int operation, bool keep) {
  if (!reducible(type, operation)) {
    simcann_note("hccl refused a reduction");
    return kUnsupported;
  }
  size_t size = width(type), begin = first * size, end = (first + count) * size;
  return queued(handle, stream, [=](Channel& channel) {
    std::vector<char> sum(keep ? end - begin : 0);
    Result result = channel.exchange(
        mine, total * size, total * size,
        [&](int rank, size_t offset, const char* piece, size_t length) {
          size_t from = std::max(offset, begin), to = std::min(offset + length, end);
          if (!keep || from >= to) return;
          if (rank == 0)
            memcpy(&sum[from - begin], piece + (from - offset), to - from);
          else
            combine(type, &sum[from - begin], piece + (from - offset), to - from, operation);
        });
    saturate(type, sum.data(), sum.size());
    if (result == kSuccess && keep) memcpy(out, sum.data(), sum.size());
    return result;
  });
}

int connect(const std::string& name, uint32_t size, uint32_t rank, void** handle) {
  std::shared_ptr<Channel> channel;
  Result result = Channel::open(name, static_cast<int>(size), static_cast<int>(rank), &channel);
  if (result != kSuccess) return result;
  auto made = std::make_unique<Communicator>(channel);
  int device = current_device();
  int64_t bytes = 2 * setting("HCCL_BUFFSIZE", 200) << 20;
  if (simcann_take(device, bytes)) return kMemory;
  made->device = device;
  made->bytes = bytes;
  *handle = made.release();
  return kSuccess;
}

Channel& channel_of(void* handle) { return *static_cast<Communicator*>(handle)->channel; }

}  // namespace

SIMCANN_API int HcclGetRootInfo(RootInfo* info) {
  static std::atomic<int> number{0};
  memset(info, 0, sizeof *info);
  snprintf(info->internal, 128, "/simcann-%d-%d-%lx", getpid(), number++,
           static_cast<unsigned long>(time(nullptr)));
  return kSuccess;
}
SIMCANN_API int HcclCommInitRootInfo(uint32_t size, const RootInfo* info, uint32_t rank,
                                     void** handle) {
  return connect(info->internal, size, rank, handle);
}
SIMCANN_API int HcclCommInitRootInfoConfig(uint32_t size, const RootInfo* info, uint32_t rank,
                                           void*, void** handle) {
  return connect(info->internal, size, rank, handle);
}
SIMCANN_API int HcclCreateSubCommConfig(void** parent, uint32_t size, uint32_t*, uint64_t id,
                                        uint32_t rank, void*, void** handle) {
  if (rank == UINT32_MAX || !size) {
    *handle = nullptr;
    return kSuccess;
  }
  return connect(channel_of(*parent).name + "-s" + std::to_string(id), size, rank, handle);
}
SIMCANN_API int HcclCommDestroy(void* handle) {
  delete static_cast<Communicator*>(handle);  // queued work holds the channel
  return kSuccess;
}
SIMCANN_API int HcclGetCommName(void* handle, char* name) {
  snprintf(name, 128, "%s", channel_of(handle).name.c_str());
  return kSuccess;
}
SIMCANN_API int HcclGetCommAsyncError(void* handle, int* error) {
  *error = channel_of(handle).error;
  return kSuccess;
}
SIMCANN_API int HcclGetRankSize(void* handle, uint32_t* size) {
  *size = static_cast<uint32_t>(channel_of(handle).size);
  return kSuccess;
}
SIMCANN_API int HcclGetRankId(void* handle, uint32_t* rank) {
  *rank = static_cast<uint32_t>(channel_of(handle).rank);
  return kSuccess;
}
SIMCANN_API const char* HcclGetErrorString(int error) {
  static thread_local char text[48];
  snprintf(text, sizeof text, "simcann: HCCL error %d%s", error,
           error == kUnsupported ? " (not supported)" : error == kTimeout ? " (timeout)" : "");
  return text;
}
SIMCANN_API int HcclSetConfig(int, int) { return kSuccess; }
SIMCANN_API uint32_t HcclGetCommConfigCapability() { return 3; }
SIMCANN_API int HcclCommResume(void*) { return kSuccess; }

SIMCANN_API int HcclBarrier(void* handle, void* stream) {
  return queued(handle, stream, [](Channel& channel) { return channel.barrier(); });
}
SIMCANN_API int HcclAllReduce(void* from, void* to, uint64_t count, int type, int operation,
                              void* handle, void* stream) {
  return reduced(handle, stream, from, to, count, 0, count, type, operation, true);
}
SIMCANN_API int HcclReduce(void* from, void* to, uint64_t count, int type, int operation,
                           uint32_t root, void* handle, void* stream) {
  bool keep = static_cast<uint32_t>(channel_of(handle).rank) == root;
  return reduced(handle, stream, from, to, count, 0, count, type, operation, keep);
}
SIMCANN_API int HcclReduceScatter(void* from, void* to, uint64_t count, int type, int operation,
                                  void* handle, void* stream) {
  Channel& channel = channel_of(handle);
  return reduced(handle, stream, from, to, count * static_cast<size_t>(channel.size),
                 count * static_cast<size_t>(channel.rank), count, type, operation, true);
}
SIMCANN_API int HcclReduceScatterV(const void* from, const void* counts, const void* offsets,
                                   void* to, uint64_t count, int type, int operation,
                                   void* handle, void* stream) {
  Channel& channel = channel_of(handle);
  const auto* lengths = static_cast<const uint64_t*>(counts);
  const auto* starts = static_cast<const uint64_t*>(offsets);
  int last = channel.size - 1;
  return reduced(handle, stream, from, to, starts[last] + lengths[last], starts[channel.rank],
                 count, type, operation, true);
}
SIMCANN_API int HcclBroadcast(void* data, uint64_t count, int type, uint32_t root, void* handle,
                              void* stream) {
  size_t bytes = count * width(type);
  return queued(handle, stream, [=](Channel& channel) {
    bool mine = static_cast<uint32_t>(channel.rank) == root;
    return channel.exchange(data, mine ? bytes : 0, bytes,
                            [&](int rank, size_t offset, const char* piece, size_t length) {
                              if (!mine && static_cast<uint32_t>(rank) == root)
                                memcpy(static_cast<char*>(data) + offset, piece, length);
                            });
  });
}
SIMCANN_API int HcclAllGather(void* from, void* to, uint64_t count, int type, void* handle,
                              void* stream) {
  size_t bytes = count * width(type);
  return queued(handle, stream, [=](Channel& channel) {
    return channel.exchange(from, bytes, bytes,
                            [&](int rank, size_t offset, const char* piece, size_t length) {
                              memcpy(static_cast<char*>(to) +
                                         static_cast<size_t>(rank) * bytes + offset,
                                     piece, length);
                            });
  });
}
SIMCANN_API int HcclAllGatherV(const void* from, uint64_t count, const void* to,
                               const void* counts, const void* offsets, int type, void* handle,
                               void* stream) {
  int ranks = channel_of(handle).size;
  const auto* lengths = static_cast<const uint64_t*>(counts);
  const auto* places = static_cast<const uint64_t*>(offsets);
  std::vector<uint64_t> sizes(lengths, lengths + ranks), starts(places, places + ranks);
  size_t size = width(type);
  return queued(handle, stream, [=](Channel& channel) {
    size_t most = 0;
    for (uint64_t n : sizes) most = std::max(most, static_cast<size_t>(n) * size);
    return channel.exchange(
        from, count * size, most,
        [&](int rank, size_t offset, const char* piece, size_t length) {
          size_t bytes = sizes[static_cast<size_t>(rank)] * size;
          if (offset < bytes)
            memcpy(static_cast<char*>(const_cast<void*>(to)) +
                       starts[static_cast<size_t>(rank)] * size + offset,
                   piece, std::min(length, bytes - offset));
        });
  });
}
SIMCANN_API int HcclScatter(void* from, void* to, uint64_t count, int type, uint32_t root,
                            void* handle, void* stream) {
  size_t bytes = count * width(type);
  return queued(handle, stream, [=](Channel& channel) {
    if (static_cast<uint32_t>(channel.rank) != root)
      return channel.receive(to, bytes, static_cast<int>(root));
    for (int rank = 0; rank < channel.size; rank++) {
      const char* piece = static_cast<char*>(from) + static_cast<size_t>(rank) * bytes;
      if (rank == channel.rank)
        memmove(to, piece, bytes);
      else if (Result result = channel.send(piece, bytes, rank))
        return result;
    }
    return kSuccess;
  });
}
SIMCANN_API int HcclAlltoAllV(const void* from, const void* send_counts, const void* send_offsets,
                              int send_type, const void* to, const void* receive_counts,
                              const void* receive_offsets, int receive_type, void* handle,
                              void* stream) {
  int ranks = channel_of(handle).size;
  auto vector = [&](const void* values) {
    const auto* first = static_cast<const uint64_t*>(values);
    return std::vector<uint64_t>(first, first + ranks);
  };
  auto counts = vector(send_counts), offsets = vector(send_offsets);
  auto lengths = vector(receive_counts), places = vector(receive_offsets);
  size_t sent = width(send_type), received = width(receive_type);
  return queued(handle, stream, [=](Channel& channel) {
    for (size_t i = 0; i < counts.size(); i++)
      if (Result result = channel.send(static_cast<const char*>(from) + offsets[i] * sent,
                                       counts[i] * sent, static_cast<int>(i)))
        return result;
    for (size_t i = 0; i < lengths.size(); i++)
      if (Result result = channel.receive(
              static_cast<char*>(const_cast<void*>(to)) + places[i] * received,
              lengths[i] * received, static_cast<int>(i)))
        return result;
    return kSuccess;
  });
}
SIMCANN_API int HcclAlltoAll(const void* from, uint64_t send_count, int send_type, const void* to,
                             uint64_t receive_count, int receive_type, void* handle,
                             void* stream) {
  auto ranks = static_cast<size_t>(channel_of(handle).size);
  std::vector<uint64_t> counts(ranks, send_count), lengths(ranks, receive_count), offsets, places;
  for (size_t i = 0; i < ranks; i++) {
    offsets.push_back(i * send_count);
    places.push_back(i * receive_count);
  }
  return HcclAlltoAllV(from, counts.data(), offsets.data(), send_type, to, lengths.data(),
                       places.data(), receive_type, handle, stream);
}
SIMCANN_API int HcclSend(void* data, uint64_t count, int type, uint32_t to, void* handle,
                         void* stream) {
  size_t bytes = count * width(type);
  return queued(handle, stream, [=](Channel& channel) {
    return channel.send(data, bytes, static_cast<int>(to));
  });
}
SIMCANN_API int HcclRecv(void* data, uint64_t count, int type, uint32_t from, void* handle,
                         void* stream) {
  size_t bytes = count * width(type);
  return queued(handle, stream, [=](Channel& channel) {
    return channel.receive(data, bytes, static_cast<int>(from));
  });
}
struct SendReceive {
  int kind;  // 0 send, 1 receive
  void* data;
  uint64_t count;
  int type;
  uint32_t peer;
};
SIMCANN_API int HcclBatchSendRecv(SendReceive* items, uint32_t count, void* handle, void* stream) {
  std::vector<SendReceive> all(items, items + count);
  return queued(handle, stream, [=](Channel& channel) {
    for (int kind : {0, 1})
      for (const SendReceive& item : all) {
        if (item.kind != kind) continue;
        size_t bytes = item.count * width(item.type);
        int peer = static_cast<int>(item.peer);
        Result result = kind == 0 ? channel.send(item.data, bytes, peer)
                                  : channel.receive(item.data, bytes, peer);
        if (result) return result;
      }
    return kSuccess;
  });
}
