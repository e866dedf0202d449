// Runs aten operators of npu tensors by the CPU's kernels, on the memory of the simulated card.
//
// Most are queued whole (later.hpp). For those whose shapes only the kernel knows:
//
//   1. wait for the current stream, so that the operands are what this stream sees
//   2. the CPU kernel reads the operands' own memory; what it writes goes to temporary memory
//   3. the writes are queued on the stream
//
// So work of one stream is in order, and other streams and the host see old data until they wait.
// Operators outside the documented table are refused, or fall back with a warning (see table.py).
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/library.h>

#include "later.hpp"

namespace {

using namespace simcann;

std::atomic<int64_t> calls{0};

// One operator call: its tensors on the card and their counterparts for the CPU kernel.
class Call {
 public:
  explicit Call(const c10::OperatorHandle& op) : schema_(op.schema()) {}

  c10::IValue to_cpu(const c10::IValue& value, bool written) {
    if (value.isTensor()) return alias(value.toTensor(), written);
    if (value.isTensorList()) {
      c10::List<at::Tensor> out;
      for (const at::Tensor& t : value.toTensorVector()) out.push_back(alias(t, written));
      return out;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> out;
      for (std::optional<at::Tensor> t : value.toOptionalTensorList()) {
        if (t && t->defined())
          mask_ |= t->scalar_type() == at::kBool || t->scalar_type() == at::kByte;
        out.push_back(t && t->defined() ? std::optional<at::Tensor>(alias(*t, written)) : t);
      }
      return out;
    }
    if (value.isDevice() && value.toDevice().type() == kNpu) {
      device_ = value.toDevice();
      return c10::Device(c10::kCPU);
    }
    if (value.isGenerator()) return cpu_generator(value.toGenerator());
    return value;
  }

  c10::IValue to_npu(const c10::IValue& value) {
    if (value.isTensor()) return result(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> out;
      for (const at::Tensor& t : value.toTensorVector()) out.push_back(result(t));
      return out;
    }
    return value;
  }

  // the rule of device kernels: one device, tensors of the host only with 0 axes (or as indices)
  void check_devices() const {
    for (const Pair& pair : pairs_)
      TORCH_CHECK(pair.npu.device() == pairs_[0].npu.device(),
                  "Expected all tensors to be on the same device, but found at least two devices, ",
                  pairs_[0].npu.device(), " and ", pair.npu.device(), "! (", schema_.name(), ")");
    if (pairs_.empty() || host_axes_ == 0) return;
    const std::string& name = schema_.name();
    for (const char* allowed : {"index", "copy", "tensor_split"})
      if (name.find(allowed) != std::string::npos) return;
    TORCH_CHECK(false,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                pairs_[0].npu.device(), " and cpu! (", name, ")");
  }

  // a mask as index of a write, wherever the mask is and whatever its target
  void check_mask() {
    std::string name = base_name(schema_);
    if (!mask_ || (name != "index_put" && name != "_index_put_impl")) return;
    simcann_lose(device().index(), kAiCore, "index_put with a mask");
    TORCH_CHECK(false, "The aicore execution is abnormal, error code is 507018 (simulated: "
                       "index_put with a boolean index)");
  }

  c10::Device device() {
    if (!device_ || !device_->has_index()) {
      c10::impl::VirtualGuardImpl guard(kNpu);
      device_ = guard.getDevice();
    }
    return *device_;
  }

  void start() {
    c10::DeviceGuard guard(device());  // whose task queue is waited for
    stream_ = c10_npu::getCurrentNPUStream(device().index()).stream();
    check(simcann_check(device().index()));
    check(simcann_wait(stream_));
  }

  at::Generator cpu_generator(const at::Generator& given) {
    if (!given.defined() || given.device().type() != kNpu) return given;
    if (!device_) device_ = given.device();
    // the card's state is {seed, offset}: a CPU generator is made of it, and the offset moves on
    auto& generator = const_cast<at::Generator&>(given);
    std::lock_guard<std::mutex> lock(generator.mutex());
    at::Tensor state = generator.get_state().clone();
    auto* words = static_cast<uint64_t*>(state.mutable_data_ptr());
    at::Generator made =
        at::detail::createCPUGenerator(words[0] ^ (words[1] * 0x9E3779B97F4A7C15ULL));
    words[1] += 4;
    generator.set_state(state);
    return made;
  }

  // queues what the kernel wrote into its arguments
  void write_back() {
    for (Pair& pair : pairs_) {
      if (!pair.written) continue;
      if (pair.cpu.sizes() != pair.npu.sizes() || pair.cpu.strides() != pair.npu.strides()) {
        if (pair.cpu.numel() != pair.npu.numel()) pair.npu.resize_(pair.cpu.sizes());
        if (pair.cpu.sizes() != pair.npu.sizes() || pair.cpu.strides() != pair.npu.strides())
          pair.npu.as_strided_(pair.cpu.sizes(), pair.cpu.strides());
      }
      if (!pair.cpu.numel()) continue;
      at::Tensor target = over_same_memory(pair.npu, storages_.of(pair.npu));
      queue(stream_, [target, source = saturated(pair.cpu)]() mutable {
        at::AutoDispatchBelowADInplaceOrView below;
        target.copy_(source);
        return kOk;
      });
    }
  }

 private:
  struct Pair {
    at::Tensor cpu, npu;
    bool written;
  };

  at::Tensor alias(const at::Tensor& tensor, bool written) {
    if (!is_npu(tensor)) {
      if (tensor.defined()) {
        hosts_.push_back(tensor);
        host_axes_ = std::max<int64_t>(host_axes_, tensor.dim());
      }
      return tensor;
    }
    TORCH_CHECK(tensor.layout() == c10::kStrided, "simcann: strided tensors only");
    if (!device_) device_ = tensor.device();
    // memory is read after start(), so the temporary of a written argument is filled there too
    for (Pair& pair : pairs_)
      if (pair.npu.is_same(tensor)) return pair.cpu;
    if (pairs_.empty()) start();
    at::Tensor cpu = over_same_memory(tensor, storages_.of(tensor));
    if (written) {
      at::AutoDispatchBelowADInplaceOrView below;
      at::Tensor own = at::empty_strided(cpu.sizes(), cpu.strides(), cpu.options());
      own.copy_(cpu);
      cpu = own;
    }
    pairs_.push_back({cpu, tensor, written});
    return cpu;
  }

  at::Tensor result(const at::Tensor& found) {
    if (!found.defined() || !found.device().is_cpu()) return found;
    for (const Pair& pair : pairs_)
      if (pair.cpu.is_same(found)) return pair.npu;
    for (const at::Tensor& host : hosts_)
      if (host.is_same(found)) return found;
    for (const Pair& pair : pairs_)
      if (!pair.written && found.storage().is_alias_of(pair.cpu.storage()))  // a view
        return at::as_strided(pair.npu, found.sizes(), found.strides(), found.storage_offset());
    at::Tensor source = found.is_non_overlapping_and_dense() ? found : found.contiguous();
    source = saturated(source.resolve_conj().resolve_neg());
    at::Tensor made =
        at::empty_strided(source.sizes(), source.strides(), source.options().device(device()));
    // another thread may have let go of this memory while a copy to it was in the task queue: that
    // has to be handed over first, as operators that go through the task queue come behind it
    stream_ = c10_npu::getCurrentNPUStream(device().index()).stream();
    size_t bytes = static_cast<size_t>(source.numel()) * source.element_size();
    if (bytes)
      queue(stream_, [to = made.mutable_data_ptr(), keep = made.storage(), source, bytes] {
        memcpy(to, source.const_data_ptr(), bytes);
        return kOk;
      });
    return made;
  }

  const c10::FunctionSchema& schema_;
  std::vector<Pair> pairs_;
  std::vector<at::Tensor> hosts_;
  Storages storages_{true};  // queued writes may outlive the tensor
  std::optional<c10::Device> device_;
  int64_t host_axes_ = 0;
  void* stream_ = nullptr;
  bool mask_ = false;

 public:
  bool has_stream() const { return stream_; }
};

// operators that draw numbers without a generator among their arguments (native_dropout)
void draw_from_default(Call& call, const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  at::Generator host = at::detail::getDefaultCPUGenerator();
  at::Tensor before = host.get_state().clone();
  host.set_state(
      call.cpu_generator(at::globalContext().defaultGenerator(call.device())).get_state());
  try {
    op.callBoxed(stack);
  } catch (...) {
    host.set_state(before);
    throw;
  }
  host.set_state(before);
}

void run_on_cpu(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  calls++;
  const auto& schema = op.schema();
  check_table(schema, *stack);
  if (runs_later(op) && Later(op).run(stack)) return;
  size_t count = schema.arguments().size(), base = stack->size() - count;
  Call call(op);
  bool has_generator = false;
  std::optional<size_t> default_generator;
  for (size_t i = 0; i < count; i++) {
    auto& slot = (*stack)[base + i];
    const auto& argument = schema.arguments()[i];
    if (argument.name() == "generator") {
      has_generator = true;
      if (slot.isNone()) default_generator = base + i;
    }
    if (argument.name() == "pin_memory" && slot.isBool()) {
      slot = c10::IValue();
      continue;
    }
    const auto* info = argument.alias_info();
    slot = call.to_cpu(slot, info && info->isWrite());
  }
  call.check_devices();
  call.check_mask();
  c10::DeviceGuard guard(call.device());
  if (!call.has_stream()) call.start();
  if (default_generator)
    (*stack)[*default_generator] =
        call.cpu_generator(at::globalContext().defaultGenerator(call.device()));
  if (op.hasTag(at::Tag::nondeterministic_seeded) && !has_generator)
    draw_from_default(call, op, stack);
  else
    op.callBoxed(stack);
  check_results(schema, *stack);
  call.write_back();
  size_t results = schema.returns().size();
  for (size_t i = stack->size() - results; i < stack->size(); i++)
    (*stack)[i] = call.to_npu((*stack)[i]);
}

template <c10::DispatchKey Key>
void stock(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  check_table(op.schema(), *stack);
  op.callBoxedForDispatchKey(Key, *stack);
  check_results(op.schema(), *stack);
}

std::vector<std::unique_ptr<torch::Library>> libraries;

torch::Library& library(const std::string& key) {
  libraries.push_back(std::make_unique<torch::Library>(
      torch::Library::IMPL, "aten", std::make_optional(c10::parseDispatchKey(key)), "simcann", 0));
  return *libraries.back();
}

void install(const std::vector<std::string>& names) {
  torch::Library& into = library("PrivateUse1");
  for (const auto& name : names)
    into.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
}

// PyTorch's own kernels in place of torch_npu's for the same key
void install_stock(const std::vector<std::string>& names, const std::string& key,
                   const std::string& from) {
  torch::Library& into = library(key);
  for (const auto& name : names) {
    using torch::CppFunction;
    if (from == "Autograd")
      into.impl(name.c_str(),
                CppFunction::makeFromBoxedFunction<&stock<c10::DispatchKey::Autograd>>());
    else if (from == "CompositeImplicitAutograd")
      into.impl(name.c_str(), CppFunction::makeFromBoxedFunction<
                                  &stock<c10::DispatchKey::CompositeImplicitAutograd>>());
    else
      into.impl(name.c_str(), CppFunction::makeFromBoxedFunction<
                                  &stock<c10::DispatchKey::CompositeExplicitAutograd>>());
  }
}

void refuse(const std::string& name, const std::vector<std::string>& dtypes,
            const std::vector<std::string>& fallback) {
  refusals[name] = {{dtypes.begin(), dtypes.end()}, {fallback.begin(), fallback.end()}};
}

void limit(const std::string& name, int64_t axes, int64_t elements, const std::string& argument) {
  limits[name] = {axes, elements, argument};
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("install", &install);
  m.def("install_stock", &install_stock);
  m.def("refuse", &refuse);
  m.def("limit", &limit);
  m.def("calls", [] { return calls.load(); });
  m.def("queued", [] { return queued.load(); });
  m.def("fallbacks", [] { return fallbacks.load(); });
}
