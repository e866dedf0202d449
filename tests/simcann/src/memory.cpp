// Device memory is host memory with an account a device; SIMCANN_MEM bytes each.
//
// Device memory starts as 0xa5 where it is small: programs that count on zeros are found.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "simcann.hpp"

namespace simcann {
namespace {

struct Block {
  size_t size;
  int device;  // -1: pinned host memory
};
struct Physical {
  int file;
  size_t size;
  int device;
};

std::mutex& mutex() {
  static auto* it = new std::mutex;
  return *it;
}
std::map<uintptr_t, Block>& blocks() {  // allocations and mapped ranges
  static auto* it = new std::map<uintptr_t, Block>;
  return *it;
}
std::map<uintptr_t, size_t>& reserved() {
  static auto* it = new std::map<uintptr_t, size_t>;
  return *it;
}
std::atomic<size_t> used[kMaxDevices];

size_t capacity() {
  static const auto bytes = static_cast<size_t>(setting("SIMCANN_MEM", 64LL << 30));
  return bytes;
}

aclError take(int device, size_t size) {
  if (device < 0) return kOk;
  // torch's allocator frees its cache and tries once more: that fails as well
  static std::atomic<size_t> refused{0};
  bool first = fault("allocation");
  if (first || (size && refused.load() == size)) {
    refused = first ? size : 0;
    return fail(kOutOfMemory, "allocation refused by SIMCANN_FAULT");
  }
  size_t now = used[device].fetch_add(size) + size;
  if (now <= capacity()) return kOk;
  used[device] -= size;
  return fail(kOutOfMemory, "device " + std::to_string(device) + " has no " +
                                std::to_string(size) + " bytes left");
}

aclError allocate(void** pointer, size_t size, int device) {
  if (!pointer) return fail(kInvalidParam, "null pointer");
  if (aclError code = take(device, size)) return code;
  size_t rounded = size ? (size + 511) & ~size_t(511) : 512;
  void* memory = nullptr;
  if (posix_memalign(&memory, 512, rounded)) {
    if (device >= 0) used[device] -= size;
    return fail(kOutOfMemory, "the host has no memory left");
  }
  // larger blocks stay untouched, so that a simulated card of 64 GiB costs nothing until written
  if (device >= 0 && rounded <= (size_t(64) << 20)) memset(memory, 0xa5, rounded);
  std::lock_guard<std::mutex> lock(mutex());
  blocks()[reinterpret_cast<uintptr_t>(memory)] = {size, device};
  *pointer = memory;
  return kOk;
}

aclError release(void* pointer) {
  if (!pointer) return kOk;
  Block block{};
  {
    std::lock_guard<std::mutex> lock(mutex());
    auto found = blocks().find(reinterpret_cast<uintptr_t>(pointer));
    if (found == blocks().end()) return fail(kInvalidParam, "free of an unknown pointer");
    block = found->second;
  }
  // queued work may still use it, as the driver would wait for
  if (block.device >= 0) wait_device(block.device);
  std::lock_guard<std::mutex> lock(mutex());
  blocks().erase(reinterpret_cast<uintptr_t>(pointer));
  if (block.device >= 0) used[block.device] -= block.size;
  free(pointer);
  return kOk;
}

bool find(const void* pointer, Block* block) {
  std::lock_guard<std::mutex> lock(mutex());
  auto at = blocks().upper_bound(reinterpret_cast<uintptr_t>(pointer));
  if (at == blocks().begin()) return false;
  --at;
  if (reinterpret_cast<uintptr_t>(pointer) >= at->first + (at->second.size ? at->second.size : 1))
    return false;
  *block = at->second;
  return true;
}

}  // namespace

int device_of(const void* pointer) {
  Block block{};
  return find(pointer, &block) ? block.device : -1;
}

}  // namespace simcann

using namespace simcann;

SIMCANN_API aclError simcann_take(int device, int64_t bytes) {
  if (bytes >= 0) return take(device, static_cast<size_t>(bytes));
  if (device >= 0) used[device] -= static_cast<size_t>(-bytes);
  return kOk;
}

SIMCANN_API aclError aclrtMalloc(void** pointer, size_t size, int) {
  if (current_device() < 0) return fail(kNoContext, "no device is set in this thread");
  if (aclError code = check_usable(current_device())) return code;
  return allocate(pointer, size, current_device());
}
SIMCANN_API aclError aclrtMallocAlign32(void** pointer, size_t size, int policy) {
  return aclrtMalloc(pointer, size, policy);
}
SIMCANN_API aclError aclrtFree(void* pointer) { return release(pointer); }
SIMCANN_API aclError aclrtMallocHost(void** pointer, size_t size) {
  return allocate(pointer, size, -1);
}
SIMCANN_API aclError aclrtFreeHost(void* pointer) { return release(pointer); }

SIMCANN_API aclError aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t size, int,
                                      void* stream) {
  if (size > room) return fail(kInvalidParam, "a copy is larger than its target");
  if (aclError code = check_usable(current_device())) return code;
  if (fault("copy")) return fail(kAiCore, "copy refused by SIMCANN_FAULT");
  // the caller may be torch_npu's task queue, which then lags behind the program
  static const int64_t lag = setting("SIMCANN_HANDOVER_US", 0);
  if (lag > 0) std::this_thread::sleep_for(std::chrono::microseconds(lag));
  enqueue(stream ? static_cast<Stream*>(stream) : default_stream(current_device()),
          [to, from, size] {
            memmove(to, from, size);
            return kOk;
          });
  return kOk;
}
SIMCANN_API aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t size, int) {
  // on the default stream and complete on return; other streams are not waited for
  if (aclError code = aclrtMemcpyAsync(to, room, from, size, 0, nullptr)) return code;
  return wait_stream(default_stream(current_device()));
}
SIMCANN_API aclError aclrtMemsetAsync(void* to, size_t room, int32_t value, size_t size,
                                      void* stream) {
  if (size > room) return fail(kInvalidParam, "a fill is larger than its target");
  if (aclError code = check_alive(current_device())) return code;
  enqueue(stream ? static_cast<Stream*>(stream) : default_stream(current_device()),
          [to, value, size] {
            memset(to, value, size);
            return kOk;
          });
  return kOk;
}
SIMCANN_API aclError aclrtMemset(void* to, size_t room, int32_t value, size_t size) {
  if (aclError code = aclrtMemsetAsync(to, room, value, size, nullptr)) return code;
  return wait_stream(default_stream(current_device()));
}
SIMCANN_API aclError aclrtGetMemInfo(int, size_t* free_bytes, size_t* total) {
  if (current_device() < 0) return fail(kNoContext, "no device is set in this thread");
  if (aclError code = check_alive(current_device())) return code;
  size_t now = used[current_device()];
  *total = capacity();
  *free_bytes = capacity() > now ? capacity() - now : 0;
  return kOk;
}

struct PointerAttributes {
  uint32_t device;
  int type;  // 0 host, 1 device, 2 unknown
  uint32_t page;
  uint32_t reserved[4];
};
SIMCANN_API aclError aclrtPointerGetAttributes(const void* pointer, PointerAttributes* found) {
  memset(found, 0, sizeof *found);
  found->page = 4096;
  Block block{};
  if (!find(pointer, &block)) {
    found->type = 2;
  } else if (block.device >= 0) {
    found->type = 1;
    found->device = static_cast<uint32_t>(block.device);
  }
  return kOk;
}

// -- virtual memory, which expandable segments use
SIMCANN_API aclError aclrtReserveMemAddress(void** address, size_t size, size_t, void* hint,
                                            uint64_t) {
  void* range = mmap(hint, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return fail(kOutOfMemory, "no address range is left");
  std::lock_guard<std::mutex> lock(mutex());
  reserved()[reinterpret_cast<uintptr_t>(range)] = size;
  *address = range;
  return kOk;
}
SIMCANN_API aclError aclrtReleaseMemAddress(void* address) {
  std::lock_guard<std::mutex> lock(mutex());
  auto found = reserved().find(reinterpret_cast<uintptr_t>(address));
  if (found == reserved().end()) return kInvalidParam;
  munmap(address, found->second);
  reserved().erase(found);
  return kOk;
}
struct PhysicalProperties {
  int handle_type, allocation_type, attribute;
  uint32_t device;
  int location;
  uint64_t reserved;
};
SIMCANN_API aclError aclrtMallocPhysical(void** handle, size_t size,
                                         const PhysicalProperties* wanted, uint64_t) {
  int device = wanted->location == 1 ? static_cast<int>(wanted->device) : -1;
  if (device >= device_count()) return kInvalidDevice;
  if (aclError code = take(device, size)) return code;
  int file = static_cast<int>(syscall(SYS_memfd_create, "simcann", 0));
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)))
    return fail(kOutOfMemory, "the host has no memory left");
  *handle = new Physical{file, size, device};
  return kOk;
}
SIMCANN_API aclError aclrtFreePhysical(void* handle) {
  auto* physical = static_cast<Physical*>(handle);
  if (physical->device >= 0) used[physical->device] -= physical->size;
  close(physical->file);
  delete physical;
  return kOk;
}
SIMCANN_API aclError aclrtMapMem(void* address, size_t size, size_t offset, void* handle,
                                 uint64_t) {
  auto* physical = static_cast<Physical*>(handle);
  if (mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file,
           static_cast<off_t>(offset)) == MAP_FAILED)
    return fail(kInvalidParam, "mapping failed");
  std::lock_guard<std::mutex> lock(mutex());
  blocks()[reinterpret_cast<uintptr_t>(address)] = {size, physical->device};
  return kOk;
}
SIMCANN_API aclError aclrtUnmapMem(void* address) {
  Block block{};
  if (!find(address, &block)) return kInvalidParam;
  if (block.device >= 0) wait_device(block.device);
  std::lock_guard<std::mutex> lock(mutex());
  mmap(address, block.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
       0);
  blocks().erase(reinterpret_cast<uintptr_t>(address));
  return kOk;
}
SIMCANN_API aclError aclrtMemExportToShareableHandle(void*, int, uint64_t, uint64_t*) {
  return fail(kNotSupported, "aclrtMemExportToShareableHandle is not simulated");
}
SIMCANN_API aclError aclrtMemImportFromShareableHandle(uint64_t, int32_t, void**) {
  return fail(kNotSupported, "aclrtMemImportFromShareableHandle is not simulated");
}
SIMCANN_API aclError aclrtMemSetPidToShareableHandle(uint64_t, int32_t*, size_t) {
  return fail(kNotSupported, "aclrtMemSetPidToShareableHandle is not simulated");
}
