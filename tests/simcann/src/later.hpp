// Operators that run when their stream gets to them, as on the hardware.
//
//   1. PyTorch's meta kernel says what the results look like; they are allocated
//   2. the call is queued with the addresses of its operands, which nothing keeps from being reused
//   3. the thread of the stream runs the CPU's kernel on what lies there then
//
// So whoever lets another stream reuse memory too early, or fills a staging buffer again, gets wrong
// values also where an operator is queued behind. Operators whose shapes depend on values, that look
// at values to refuse them, or that have no meta kernel are not for here.
#pragma once
#include <c10/core/DeviceGuard.h>

#include <cstdio>

#include "tables.hpp"

namespace simcann {

inline std::atomic<int64_t> queued{0};

inline bool runs_later(const c10::OperatorHandle& op) {
  static const std::set<std::string> besides = {
      "all",    "amax",    "amin",   "any",    "argmax", "argmin", "baddbmm", "bmm",  "cat",
      "cumprod", "cumsum", "addmm",  "flip",   "max",    "mean",   "min",     "mm",   "prod",
      "sort",   "sum",     "tril",   "triu",   "where"};
  if (op.hasTag(at::Tag::nondeterministic_seeded)) return false;
  return op.hasTag(at::Tag::pointwise) || besides.count(base_name(op.schema()));
}

// One call on its way into a stream.
class Later {
 public:
  explicit Later(const c10::OperatorHandle& op) : op_(op), schema_(op.schema()) {}

  // Queues the call and puts its results on the stack; false: nothing was done.
  bool run(torch::jit::Stack* stack) {
    size_t count = schema_.arguments().size(), base = stack->size() - count;
    torch::jit::Stack described;
    for (size_t i = 0; i < count; i++) {
      const auto& argument = schema_.arguments()[i];
      const auto* info = argument.alias_info();
      described.push_back(describe((*stack)[base + i], info && info->isWrite()));
    }
    if (refused_ || !device_ || !call_meta(&described)) return false;
    check_results(schema_, described);
    std::vector<c10::IValue> results;
    std::vector<std::pair<size_t, at::Tensor>> made;
    for (size_t i = 0; i < described.size(); i++) {
      if (!described[i].isTensor()) return false;
      at::Tensor result = given_for(described[i].toTensor());
      if (!result.defined()) {
        check_dtype(base_name(schema_), c10::toString(described[i].toTensor().scalar_type()));
        result = allocated(described[i].toTensor());
        if (!result.defined()) return false;
        made.push_back({i, result});
      }
      results.push_back(result);
    }
    enqueue(*stack, base, made);
    stack->resize(base);
    stack->insert(stack->end(), results.begin(), results.end());
    queued++;
    return true;
  }

 private:
  struct Pair {
    at::Tensor given, meta;
    bool written;
  };

  c10::IValue describe(const c10::IValue& value, bool written) {
    if (value.isTensor()) return described(value.toTensor(), written);
    if (value.isTensorList()) {
      c10::List<at::Tensor> out;
      for (const at::Tensor& tensor : value.toTensorVector())
        out.push_back(described(tensor, written));
      return out;
    }
    refused_ |= value.isOptionalTensorList() || value.isGenerator() || value.isDevice();
    return value;
  }

  at::Tensor described(const at::Tensor& tensor, bool written) {
    if (!tensor.defined()) return tensor;
    for (Pair& pair : pairs_)
      if (pair.given.is_same(tensor)) {
        pair.written |= written;
        return pair.meta;
      }
    bool here = is_npu(tensor);
    if (here && !device_) device_ = tensor.device();
    refused_ |= here ? tensor.device() != *device_ || tensor.layout() != c10::kStrided
                     : !tensor.device().is_cpu() || tensor.dim() > 0 || written;
    if (refused_) return tensor;
    if (!here) {  // a number, which meta kernels take as it is
      pairs_.push_back({tensor, tensor, false});
      return tensor;
    }
    at::Tensor meta = at::empty_strided(tensor.sizes(), tensor.strides(),
                                        at::TensorOptions(tensor.dtype()).device(c10::kMeta));
    if (tensor.is_conj()) meta._set_conj(true);
    if (tensor.is_neg()) meta._set_neg(true);
    pairs_.push_back({tensor, meta, written});
    return meta;
  }

  bool call_meta(torch::jit::Stack* described) {
    static std::mutex mutex;
    static std::set<std::string> without;
    std::string name = schema_.name() + "." + schema_.overload_name();
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (without.count(name)) return false;
    }
    try {
      at::AutoDispatchBelowADInplaceOrView below;
      op_.callBoxed(described);
    } catch (const c10::NotImplementedError&) {
      std::lock_guard<std::mutex> lock(mutex);
      without.insert(name);
      return false;
    } catch (const std::exception&) {
      return false;  // the CPU's kernel says what is wrong
    }
    for (const Pair& pair : pairs_)
      if (pair.written && (pair.meta.sizes() != pair.given.sizes() ||
                           pair.meta.strides() != pair.given.strides()))
        return false;
    return true;
  }

  at::Tensor given_for(const at::Tensor& meta) const {
    for (const Pair& pair : pairs_)
      if (pair.meta.is_same(meta)) return pair.given;
    return {};
  }

  // undefined where a result is a view, or has gaps
  at::Tensor allocated(const at::Tensor& meta) const {
    if (!meta.defined() || !meta.is_non_overlapping_and_dense() || meta.is_conj() || meta.is_neg())
      return {};
    for (const Pair& pair : pairs_)
      if (meta.storage().is_alias_of(pair.meta.storage())) return {};
    return at::empty_strided(meta.sizes(), meta.strides(), meta.options().device(*device_));
  }

  at::Tensor operand(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (is_npu(tensor)) return over_same_memory(tensor, storages_.of(tensor));
    at::Tensor own = tensor.clone();
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
      own.unsafeGetTensorImpl()->set_wrapped_number(true);
    return own;
  }

  c10::IValue operand(const c10::IValue& value) {
    if (value.isTensor()) return operand(value.toTensor());
    if (!value.isTensorList()) return value;
    c10::List<at::Tensor> out;
    for (const at::Tensor& tensor : value.toTensorVector()) out.push_back(operand(tensor));
    return out;
  }

  void enqueue(const torch::jit::Stack& stack, size_t base,
               const std::vector<std::pair<size_t, at::Tensor>>& made) {
    c10::DeviceGuard guard(*device_);  // whose task queue is waited for
    check(simcann_check(device_->index()));
    // copies that are still in the task queue come first
    void* stream = c10_npu::getCurrentNPUStream(device_->index()).stream();
    torch::jit::Stack call;
    std::vector<at::Tensor> written;
    for (size_t i = base; i < stack.size(); i++) {
      const auto* info = schema_.arguments()[i - base].alias_info();
      call.push_back(operand(stack[i]));
      if (info && info->isWrite() && call.back().isTensor())
        written.push_back(call.back().toTensor());
    }
    std::vector<std::pair<size_t, at::Tensor>> targets;
    for (const auto& [index, tensor] : made) targets.push_back({index, operand(tensor)});
    queue(stream, [op = op_, call, written, targets, name = schema_.name()]() mutable -> aclError {
      try {
        at::AutoDispatchBelowADInplaceOrView below;
        op.callBoxed(&call);
        for (auto& [index, target] : targets) target.copy_(saturated(call[index].toTensor()));
        if (simcann_saturates())
          for (at::Tensor& tensor : written) tensor.copy_(saturated(tensor));
      } catch (const std::exception& error) {
        fprintf(stderr, "simcann: %s failed on its stream: %s\n", name.c_str(), error.what());
        return kAiCore;
      }
      return kOk;
    });
  }

  c10::OperatorHandle op_;
  const c10::FunctionSchema& schema_;
  std::vector<Pair> pairs_;
  Storages storages_{false};
  std::optional<c10::Device> device_;
  bool refused_ = false;
};

}  // namespace simcann
