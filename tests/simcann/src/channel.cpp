#include "channel.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace simcann {
namespace {

constexpr size_t kSlot = size_t(1) << 20;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double limit() {
  const char* value = getenv("SIMCANN_HCCL_TIMEOUT");
  return value && *value ? atof(value) : 120.0;
}

template <class F>
bool wait_for(F ready) {
  double start = now();
  for (int turn = 0; !ready(); turn++) {
    if (turn < 200)
      sched_yield();
    else
      usleep(100);
    if (now() - start > limit()) return false;
  }
  return true;
}

}  // namespace

struct Channel::Header {
  std::atomic<uint32_t> joined, arrived, generation;
  char padding[4096 - 3 * sizeof(std::atomic<uint32_t>)];
};

Result Channel::open(const std::string& name, int size, int rank,
                     std::shared_ptr<Channel>* made) {
  std::shared_ptr<Channel> channel(new Channel(name, size, rank));
  channel->mapped_ = sizeof(Header) + static_cast<size_t>(size) * kSlot;
  int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  if (file < 0) return kSystemCall;
  if (ftruncate(file, static_cast<off_t>(channel->mapped_))) {
    close(file);
    return kSystemCall;
  }
  void* memory =
      mmap(nullptr, channel->mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return kSystemCall;
  channel->header_ = static_cast<Header*>(memory);
  channel->slots_ = static_cast<char*>(memory) + sizeof(Header);
  channel->header_->joined.fetch_add(1);
  bool complete = wait_for(
      [&] { return channel->header_->joined.load() >= static_cast<uint32_t>(size); });
  Result result = complete ? channel->barrier() : kTimeout;
  if (rank == 0 || result != kSuccess) shm_unlink(name.c_str());
  if (result == kSuccess) *made = channel;
  return result;
}

Channel::~Channel() {
  if (header_) munmap(header_, mapped_);
}

Result Channel::barrier() {
  uint32_t generation = header_->generation.load();
  if (header_->arrived.fetch_add(1) + 1 == static_cast<uint32_t>(size)) {
    header_->arrived = 0;
    header_->generation.fetch_add(1);
    return kSuccess;
  }
  return wait_for([&] { return header_->generation.load() != generation; }) ? kSuccess : kTimeout;
}

Result Channel::exchange(const void* mine, size_t bytes, size_t most, const Reader& read) {
  for (size_t offset = 0; offset < most; offset += kSlot) {
    if (offset < bytes)
      memcpy(slots_ + static_cast<size_t>(rank) * kSlot, static_cast<const char*>(mine) + offset,
             std::min(kSlot, bytes - offset));
    if (Result result = barrier()) return result;
    size_t length = std::min(kSlot, most - offset);
    for (int other = 0; other < size; other++)
      read(other, offset, slots_ + static_cast<size_t>(other) * kSlot, length);
    if (Result result = barrier()) return result;
  }
  return kSuccess;
}

std::string Channel::message(int from, int to, uint64_t number) const {
  return name + "." + std::to_string(from) + "." + std::to_string(to) + "." +
         std::to_string(number);
}

Result Channel::send(const void* data, size_t bytes, int to) {
  std::string final_name = message(rank, to, sent_[to]++), name = final_name + ".part";
  int file = shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
  if (file < 0) return kSystemCall;
  const char* at = static_cast<const char*>(data);
  for (size_t left = bytes; left;) {
    ssize_t written = write(file, at, left);
    if (written <= 0) {
      close(file);
      shm_unlink(name.c_str());
      return kSystemCall;
    }
    at += written;
    left -= static_cast<size_t>(written);
  }
  close(file);
  return rename(("/dev/shm" + name).c_str(), ("/dev/shm" + final_name).c_str()) ? kSystemCall
                                                                                 : kSuccess;
}

Result Channel::receive(void* data, size_t bytes, int from) {
  std::string name = message(from, rank, received_[from]++);
  int file = -1;
  if (!wait_for([&] {
        file = shm_open(name.c_str(), O_RDWR, 0600);
        return file >= 0;
      }))
    return kTimeout;
  char* at = static_cast<char*>(data);
  Result result = kSuccess;
  for (size_t left = bytes; left;) {
    ssize_t got = read(file, at, left);
    if (got <= 0) {
      result = kParameter;
      break;
    }
    at += got;
    left -= static_cast<size_t>(got);
  }
  close(file);
  shm_unlink(name.c_str());
  return result;
}

}  // namespace simcann
