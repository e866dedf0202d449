// Shared by the stub libraries: error codes, settings, devices, streams and faults.
//
// One rule keeps the simulation honest: device memory is only written by the thread of a stream.
// Copies, kernels and collectives are queued; whoever looks at memory without waiting sees what was
// there before.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#define SIMCANN_API extern "C" __attribute__((visibility("default")))

using aclError = int;

namespace simcann {

enum Error : aclError {
  kOk = 0,
  kInvalidParam = 107000,
  kInvalidDevice = 107001,
  kNoContext = 107002,
  kNotSupported = 207000,
  kOutOfMemory = 207001,
  kRepeatInitialize = 100002,
  kReportTimeout = 107008,
  kDeviceLost = 507899,
  kAiCore = 507018,
};

// settings.cpp
int64_t setting(const char* name, int64_t otherwise);
std::string text_setting(const char* name, const char* otherwise);
std::string soc_name();

// device.cpp
constexpr int kMaxDevices = 64;
int device_count();
int current_device();                                  // -1: none set in this thread
aclError fail(aclError code, const std::string& message);  // remembered for aclGetRecentErrMsg
aclError check_usable(int device);                     // lost, forked, forbidden
aclError check_alive(int device);                      // lost; asks for no fault
void lose_device(int device, aclError code, const std::string& why);
aclError lost_code(int device);                        // 0: usable
void note(const std::string& line);                    // a line of SIMCANN_LOG, if it is set

// memory.cpp
int device_of(const void* pointer);                    // -1: host memory

// stream.cpp
struct Stream;
void enqueue(Stream* stream, std::function<aclError()> work);
Stream* default_stream(int device);
aclError wait_stream(Stream* stream);
aclError wait_device(int device);

// faults.cpp: one fault a process, SIMCANN_FAULT="allocation:5", "copy:3", "lost:100",
// "stall:2" or "die:2" (in the n-th collective), "refuse:2" (a collective that returns an error);
// "die:2@1": in that of rank 1 alone
bool fault(const char* kind, int rank = -1);           // counts, and says whether it is due now

}  // namespace simcann

// what the other stub libraries call
SIMCANN_API void simcann_enqueue(void* stream, aclError (*run)(void*), void* argument);
SIMCANN_API aclError simcann_wait(void* stream);
SIMCANN_API int simcann_fault(const char* kind, int rank);
SIMCANN_API void simcann_lose(int device, aclError code, const char* why);
SIMCANN_API aclError simcann_check(int device);
SIMCANN_API aclError simcann_check_alive(int device);
SIMCANN_API void simcann_note(const char* line);
SIMCANN_API int simcann_saturates();  // whether overflow gives the largest number, and NaN 0
SIMCANN_API aclError simcann_take(int device, int64_t bytes);  // negative: gives back

namespace simcann {

// Queues any callable on a stream of another stub library.
template <class F>
void queue(void* stream, F work) {
  simcann_enqueue(
      stream,
      [](void* argument) -> aclError {
        std::unique_ptr<F> run(static_cast<F*>(argument));
        return (*run)();
      },
      new F(std::move(work)));
}

}  // namespace simcann
