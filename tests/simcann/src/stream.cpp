// Streams and events: a thread a stream, started with its first work.
//
//   aclrtMemcpyAsync ---> | copy | kernel | record e | ---> thread of stream 1
//   aclrtStreamWaitEvent -> | wait e | copy |          ---> thread of stream 2
//
// Before an item runs the thread may sleep (SIMCANN_DELAY_US, SIMCANN_SEED): programs that forget
// to wait then see old data here, as they would on a busy card. SIMCANN_ASYNC=0 runs work at once.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>
#include <vector>

#include "simcann.hpp"

namespace simcann {

struct Stream {
  int device;
  int id;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<aclError()>> queue;
  uint64_t queued = 0, done = 0;
  aclError error = kOk;
  bool started = false, closing = false;
};

namespace {

struct Record {  // one recording of an event
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int64_t nanoseconds = 0;
  aclError error = kOk;  // of what the stream did before
  int device = -1;
};
struct Event {
  std::mutex mutex;
  std::shared_ptr<Record> last;
};

// never destroyed: threads of streams may outlive static destructors
std::mutex& registry_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::vector<Stream*>& registry() {
  static auto* streams = new std::vector<Stream*>;
  return *streams;
}
std::atomic<int> last_id{0};

bool asynchronous() {
  static const bool on = setting("SIMCANN_ASYNC", 1) != 0;
  return on;
}

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void maybe_sleep(std::mt19937_64& random) {
  static const int64_t longest = setting("SIMCANN_DELAY_US", 0);
  // one item in eight: every order is met, and a suite still ends
  if (longest > 0 && random() % 8 == 0) usleep(static_cast<useconds_t>(random() % longest));
}

void work(Stream* stream) {
  std::mt19937_64 random(static_cast<uint64_t>(setting("SIMCANN_SEED", 0)) * 1000003u +
                         static_cast<uint64_t>(stream->id));
  std::unique_lock<std::mutex> lock(stream->mutex);
  for (;;) {
    stream->changed.wait(lock, [&] { return !stream->queue.empty() || stream->closing; });
    if (stream->queue.empty()) break;
    auto item = std::move(stream->queue.front());
    stream->queue.pop_front();
    lock.unlock();
    maybe_sleep(random);
    aclError code = lost_code(stream->device);
    if (!code) code = item();
    item = nullptr;
    lock.lock();
    if (code && !stream->error) stream->error = code;
    stream->done++;
    stream->changed.notify_all();
  }
  lock.unlock();
  delete stream;
}

Stream* make(int device) {
  auto* stream = new Stream;
  stream->device = device;
  stream->id = ++last_id;
  std::lock_guard<std::mutex> lock(registry_mutex());
  registry().push_back(stream);
  return stream;
}

aclError wait_record(const std::shared_ptr<Record>& record) {
  if (!record) return kOk;
  std::unique_lock<std::mutex> lock(record->mutex);
  // streams of a lost device do nothing any more
  while (!record->changed.wait_for(lock, std::chrono::milliseconds(50),
                                   [&] { return record->done; }))
    if (aclError code = lost_code(record->device)) return code;
  return record->error;
}

aclError error_of(Stream* stream) {
  std::lock_guard<std::mutex> lock(stream->mutex);
  return stream->error;
}

Stream* given(void* stream) {
  return stream ? static_cast<Stream*>(stream) : default_stream(current_device());
}

}  // namespace

Stream* default_stream(int device) {
  static std::mutex mutex;
  static Stream* streams[kMaxDevices] = {};
  std::lock_guard<std::mutex> lock(mutex);
  int index = device < 0 ? 0 : device;
  if (!streams[index]) streams[index] = make(index);
  return streams[index];
}

void enqueue(Stream* stream, std::function<aclError()> item) {
  std::unique_lock<std::mutex> lock(stream->mutex);
  if (!asynchronous()) {
    lock.unlock();
    aclError code = lost_code(stream->device);
    if (!code) code = item();
    lock.lock();
    if (code && !stream->error) stream->error = code;
    return;
  }
  if (!stream->started) {
    stream->started = true;
    std::thread(work, stream).detach();
  }
  stream->queue.push_back(std::move(item));
  stream->queued++;
  stream->changed.notify_all();
}

aclError wait_stream(Stream* stream) {
  std::unique_lock<std::mutex> lock(stream->mutex);
  uint64_t target = stream->queued;
  stream->changed.wait(lock, [&] { return stream->done >= target; });
  if (aclError code = lost_code(stream->device))
    return fail(code, "device " + std::to_string(stream->device) + " is lost");
  aclError code = stream->error;
  stream->error = kOk;
  return code ? fail(code, "work on stream " + std::to_string(stream->id) + " failed") : kOk;
}

aclError wait_device(int device) {
  if (device < 0) return kNoContext;
  std::vector<Stream*> streams;
  {
    std::lock_guard<std::mutex> lock(registry_mutex());
    streams = registry();
  }
  aclError first = lost_code(device);
  for (Stream* stream : streams)
    if (stream->device == device)
      if (aclError code = wait_stream(stream)) first = first ? first : code;
  return first;
}

}  // namespace simcann

using namespace simcann;

SIMCANN_API void simcann_enqueue(void* stream, aclError (*run)(void*), void* argument) {
  enqueue(given(stream), [run, argument] { return run(argument); });
}
SIMCANN_API aclError simcann_wait(void* stream) { return wait_stream(given(stream)); }

SIMCANN_API aclError aclrtCreateStreamWithConfig(void** stream, uint32_t, uint32_t) {
  if (current_device() < 0) return fail(kNoContext, "no device is set in this thread");
  if (aclError code = check_alive(current_device())) return code;
  *stream = make(current_device());
  return kOk;
}
SIMCANN_API aclError aclrtCreateStream(void** stream) {
  return aclrtCreateStreamWithConfig(stream, 0, 0);
}
SIMCANN_API aclError aclrtDestroyStream(void* handle) {
  auto* stream = static_cast<Stream*>(handle);
  {
    std::lock_guard<std::mutex> lock(registry_mutex());
    for (auto at = registry().begin(); at != registry().end(); ++at)
      if (*at == stream) {
        registry().erase(at);
        break;
      }
  }
  std::unique_lock<std::mutex> lock(stream->mutex);
  bool started = stream->started;
  stream->closing = true;
  stream->changed.notify_all();
  lock.unlock();
  if (!started) delete stream;
  return kOk;
}
SIMCANN_API aclError aclrtDestroyStreamForce(void* stream) { return aclrtDestroyStream(stream); }
SIMCANN_API aclError aclrtSynchronizeStream(void* stream) { return wait_stream(given(stream)); }
SIMCANN_API aclError aclrtSynchronizeStreamWithTimeout(void* stream, int32_t) {
  return wait_stream(given(stream));
}
SIMCANN_API aclError aclrtStreamQuery(void* handle, int* status) {
  Stream* stream = given(handle);
  std::lock_guard<std::mutex> lock(stream->mutex);
  *status = stream->done < stream->queued;  // 0: complete, 1: not yet
  return kOk;
}
SIMCANN_API aclError aclrtStreamGetId(void* stream, int32_t* id) {
  *id = given(stream)->id;
  return kOk;
}
SIMCANN_API aclError aclrtSetStreamFailureMode(void*, uint64_t) { return kOk; }
SIMCANN_API aclError aclrtSetStreamAttribute(void*, int, void*) { return kOk; }
SIMCANN_API aclError aclrtSetStreamOverflowSwitch(void*, uint32_t) { return kOk; }
SIMCANN_API aclError aclrtGetStreamOverflowSwitch(void*, uint32_t* flag) {
  *flag = 0;
  return kOk;
}

SIMCANN_API aclError aclrtCreateEventExWithFlag(void** event, uint32_t) {
  *event = new Event;
  return kOk;
}
SIMCANN_API aclError aclrtCreateEventWithFlag(void** event, uint32_t flag) {
  return aclrtCreateEventExWithFlag(event, flag);
}
SIMCANN_API aclError aclrtCreateEvent(void** event) { return aclrtCreateEventExWithFlag(event, 0); }
SIMCANN_API aclError aclrtDestroyEvent(void* event) {
  delete static_cast<Event*>(event);
  return kOk;
}
SIMCANN_API aclError aclrtRecordEvent(void* handle, void* stream) {
  auto* event = static_cast<Event*>(handle);
  auto record = std::make_shared<Record>();
  Stream* on = given(stream);
  record->device = on->device;
  {
    std::lock_guard<std::mutex> lock(event->mutex);
    event->last = record;
  }
  enqueue(on, [record, on] {
    aclError error = error_of(on);
    std::lock_guard<std::mutex> lock(record->mutex);
    record->done = true;
    record->error = error;
    record->nanoseconds = now();
    record->changed.notify_all();
    return kOk;
  });
  return kOk;
}
namespace {
std::shared_ptr<Record> last_record(void* handle) {
  auto* event = static_cast<Event*>(handle);
  std::lock_guard<std::mutex> lock(event->mutex);
  return event->last;
}
bool complete(void* handle) {
  auto record = last_record(handle);
  if (!record) return true;
  std::lock_guard<std::mutex> lock(record->mutex);
  return record->done;
}
int64_t stamp(void* handle) {
  auto record = last_record(handle);
  if (!record) return 0;
  std::lock_guard<std::mutex> lock(record->mutex);
  return record->nanoseconds;
}
}  // namespace
SIMCANN_API aclError aclrtStreamWaitEvent(void* stream, void* event) {
  // the recording at the time of this call counts, later ones do not
  auto record = last_record(event);
  enqueue(given(stream), [record] { return wait_record(record); });
  return kOk;
}
SIMCANN_API aclError aclrtResetEvent(void*, void*) { return kOk; }
SIMCANN_API aclError aclrtSynchronizeEvent(void* event) {
  aclError code = wait_record(last_record(event));
  return code ? fail(code, "work before an event failed") : kOk;
}
SIMCANN_API aclError aclrtQueryEventStatus(void* event, int* status) {
  *status = complete(event);  // 1: complete
  return kOk;
}
SIMCANN_API aclError aclrtQueryEventWaitStatus(void* event, int* status) {
  *status = complete(event) ? 0 : 0xffff;  // 0: complete
  return kOk;
}
SIMCANN_API aclError aclrtEventGetTimestamp(void* event, uint64_t* microseconds) {
  *microseconds = static_cast<uint64_t>(stamp(event) / 1000);
  return kOk;
}
SIMCANN_API aclError aclrtEventElapsedTime(float* milliseconds, void* first, void* second) {
  *milliseconds = static_cast<float>(stamp(second) - stamp(first)) / 1e6f;
  return kOk;
}
SIMCANN_API aclError aclrtLaunchHostFunc(void* stream, void (*function)(void*), void* argument) {
  enqueue(given(stream), [function, argument] {
    function(argument);
    return kOk;
  });
  return kOk;
}
SIMCANN_API aclError aclrtLaunchCallback(void (*function)(void*), void* argument, int,
                                         void* stream) {
  return aclrtLaunchHostFunc(stream, function, argument);
}
SIMCANN_API aclError aclrtSubscribeReport(uint64_t, void*) { return kOk; }
SIMCANN_API aclError aclrtUnSubscribeReport(uint64_t, void*) { return kOk; }
SIMCANN_API aclError aclrtProcessReport(int32_t milliseconds) {
  usleep(1000 * (milliseconds > 0 && milliseconds < 100 ? milliseconds : 100));
  return kReportTimeout;
}
