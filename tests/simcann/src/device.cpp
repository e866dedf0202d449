// Devices: how many there are, which one a thread uses, and what makes one unusable.
//
// ASCEND_RT_VISIBLE_DEVICES is honoured as the driver does: ascending numbers, renumbered from 0;
// any other list shows no device. A process that was forked after a first call to the driver, or that
// may not use one (SIMCANN_NO_CONTEXT=1: clients, nannies, schedulers), is refused.
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <vector>

#include "simcann.hpp"

namespace simcann {
namespace {

struct Context {
  int device = -1;
  std::atomic<aclError> lost{0};
  std::atomic<bool> used{false};
};

Context contexts[kMaxDevices];
thread_local int device_of_thread = -1;
thread_local std::string last_error;
std::atomic<bool> any_used{false};
std::atomic<bool> forked_after_use{false};
bool initialized = false;

int count_visible() {
  int installed = static_cast<int>(setting("SIMCANN_DEVICES", 8));
  if (installed > kMaxDevices) installed = kMaxDevices;
  const char* list = getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (!list) return installed;
  int count = 0, previous = -1;
  for (const char* at = list; *at;) {
    char* end = nullptr;
    long number = strtol(at, &end, 10);
    if (end == at || number <= previous || number >= installed) return 0;
    previous = static_cast<int>(number);
    count++;
    at = *end == ',' ? end + 1 : end;
    if (*end && *end != ',') return 0;
  }
  return count;
}

void in_child() {
  if (any_used) forked_after_use = true;
}
[[maybe_unused]] const int watched = pthread_atfork(nullptr, nullptr, in_child);

}  // namespace

int device_count() {
  static const int count = count_visible();
  return count;
}

int current_device() { return device_of_thread; }

aclError fail(aclError code, const std::string& message) {
  last_error = "simcann: " + message;
  return code;
}

void note(const std::string& line) {
  static const std::string path = text_setting("SIMCANN_LOG", "");
  if (path.empty()) return;
  int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (file < 0) return;
  std::string whole = std::to_string(getpid()) + " " + line + "\n";
  ssize_t written = write(file, whole.data(), whole.size());
  (void)written;
  close(file);
}

aclError lost_code(int device) {
  return device >= 0 && device < kMaxDevices ? contexts[device].lost.load() : 0;
}

void lose_device(int device, aclError code, const std::string& why) {
  if (device < 0 || device >= kMaxDevices) return;
  contexts[device].lost = code;
  note("lost " + std::to_string(device) + " " + why);
}

aclError check_usable(int device) {
  if (forked_after_use) {
    note("forked");
    return fail(kNoContext, "this process was forked after the driver was used; spawn it instead");
  }
  static const bool forbidden = setting("SIMCANN_NO_CONTEXT", 0) != 0;
  if (forbidden) {
    note("forbidden");
    return fail(kNoContext, "this process may not use a device (SIMCANN_NO_CONTEXT)");
  }
  if (fault("lost")) lose_device(device, kDeviceLost, "by SIMCANN_FAULT");
  return check_alive(device);
}

aclError check_alive(int device) {
  if (aclError code = lost_code(device))
    return fail(code, "device " + std::to_string(device) + " is lost; restart the process");
  return kOk;
}

}  // namespace simcann

using namespace simcann;

SIMCANN_API aclError simcann_check(int device) { return check_usable(device); }
SIMCANN_API aclError simcann_check_alive(int device) { return check_alive(device); }
SIMCANN_API void simcann_lose(int device, aclError code, const char* why) {
  lose_device(device, code, why);
}
SIMCANN_API void simcann_note(const char* line) { note(line); }

SIMCANN_API aclError aclInit(const char*) {
  if (initialized) return kRepeatInitialize;
  initialized = true;
  any_used = true;
  return kOk;
}
SIMCANN_API aclError aclFinalize() {
  initialized = false;
  return kOk;
}
SIMCANN_API const char* aclGetRecentErrMsg() {
  return last_error.empty() ? nullptr : last_error.c_str();
}
SIMCANN_API void aclAppLog(int, const char*, const char*, uint32_t, const char*, ...) {}
SIMCANN_API const char* aclrtGetSocName() {
  static const std::string name = soc_name();
  // the question already initialises the driver
  if (!any_used.exchange(true)) note("driver");
  return name.c_str();
}
SIMCANN_API aclError aclrtGetDeviceCount(uint32_t* count) {
  *count = static_cast<uint32_t>(device_count());
  return kOk;
}
SIMCANN_API aclError aclrtSetDevice(int32_t device) {
  if (device < 0 || device >= device_count())
    return fail(kInvalidDevice, "device " + std::to_string(device) + " of " +
                                    std::to_string(device_count()));
  if (aclError code = check_usable(device)) return code;
  device_of_thread = device;
  contexts[device].device = device;
  any_used = true;
  if (!contexts[device].used.exchange(true)) note("context " + std::to_string(device));
  return kOk;
}
SIMCANN_API aclError aclrtGetDevice(int32_t* device) {
  if (device_of_thread < 0) return kNoContext;
  *device = device_of_thread;
  return kOk;
}
SIMCANN_API aclError aclrtResetDevice(int32_t device) {
  if (device < 0 || device >= device_count()) return kInvalidDevice;
  if (device_of_thread == device) device_of_thread = -1;
  return kOk;
}
SIMCANN_API aclError aclrtGetCurrentContext(void** context) {
  if (device_of_thread < 0) return kNoContext;
  *context = &contexts[device_of_thread];
  return kOk;
}
SIMCANN_API aclError aclrtSetCurrentContext(void* context) {
  if (!context) return kInvalidParam;
  device_of_thread = static_cast<Context*>(context)->device;
  return kOk;
}
SIMCANN_API aclError aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
  if (flags) *flags = 0;
  if (active) *active = contexts[device].used;
  return kOk;
}
SIMCANN_API aclError aclrtDeviceCanAccessPeer(int32_t* can, int32_t, int32_t) {
  *can = 1;
  return kOk;
}
SIMCANN_API aclError aclrtDeviceEnablePeerAccess(int32_t, uint32_t) { return kOk; }
SIMCANN_API aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  *pid = getpid();
  return kOk;
}
SIMCANN_API aclError aclGetDeviceCapability(uint32_t, int, int64_t* value) {
  *value = 20;  // cores
  return kOk;
}
SIMCANN_API aclError aclrtGetDeviceInfo(uint32_t, int, int64_t* value) {
  *value = 20;
  return kOk;
}
SIMCANN_API aclError aclrtGetLogicDevIdByUserDevId(const int32_t user, int32_t* const logical) {
  *logical = user;
  return kOk;
}
SIMCANN_API aclError aclrtSetDeviceSatMode(int) { return kOk; }
SIMCANN_API aclError aclrtSetOpExecuteTimeOut(uint32_t) { return kOk; }
SIMCANN_API aclError aclrtSetOpWaitTimeout(uint32_t) { return kOk; }
SIMCANN_API aclError aclrtGetLastError(int) { return kOk; }
SIMCANN_API aclError aclrtPeekAtLastError(int) { return kOk; }
SIMCANN_API aclError aclrtSynchronizeDevice() { return wait_device(device_of_thread); }
SIMCANN_API aclError aclrtSynchronizeDeviceWithTimeout(int32_t) {
  return wait_device(device_of_thread);
}
