// Tensors of a simulated card, seen by the CPU's kernels: the same memory under another device.
#pragma once
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <map>
#include <string>
#include <vector>

#include "simcann.hpp"

namespace c10_npu {  // as torch_npu's own class, for the call
class NPUStream {
 public:
  ~NPUStream() {}
  void* stream() const;  // waits until the task queue has handed everything over

 private:
  c10::Stream stream_;
};
NPUStream getCurrentNPUStream(c10::DeviceIndex device);
}  // namespace c10_npu

namespace simcann {

constexpr auto kNpu = c10::DeviceType::PrivateUse1;

inline bool flag(const char* name) {
  const char* value = getenv(name);
  return value && *value && std::string(value) != "0";
}

inline bool is_npu(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kNpu;
}

inline std::string base_name(const c10::FunctionSchema& schema) {
  std::string name = schema.name().substr(schema.name().find("::") + 2);
  if (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

inline void check(aclError code) {
  TORCH_CHECK(!code, "NPU function error: an operator or copy failed, error code is ", code,
              " (simulated)");
}

inline at::Tensor over_same_memory(const at::Tensor& tensor, const c10::Storage& storage) {
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  auto* inner = made.unsafeGetTensorImpl();
  inner->set_storage_offset(tensor.storage_offset());
  inner->set_sizes_and_strides(tensor.sizes(), tensor.strides());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) inner->set_wrapped_number(true);
  if (tensor.is_conj()) made._set_conj(true);
  if (tensor.is_neg()) made._set_neg(true);
  return made;
}

// Host storages over the storages of the card, one for each.
class Storages {
 public:
  // keep: whether the card's memory stays taken as long as the host storage is there
  explicit Storages(bool keep) : keep_(keep) {}

  c10::Storage of(const at::Tensor& tensor) {
    auto* inner = tensor.storage().unsafeGetStorageImpl();
    auto found = made_.find(inner);
    if (found == made_.end() || found->second.data() != inner->data()) {
      auto* kept = keep_ ? new c10::Storage(tensor.storage()) : nullptr;
      c10::DataPtr data(
          inner->mutable_data(), kept, [](void* it) { delete static_cast<c10::Storage*>(it); },
          c10::Device(c10::kCPU));
      made_[inner] = c10::Storage(c10::Storage::use_byte_size_t(), inner->nbytes(),
                                  std::move(data), c10::GetAllocator(c10::kCPU), false);
    }
    return made_[inner];
  }

 private:
  bool keep_;
  std::map<c10::StorageImpl*, c10::Storage> made_;
};

inline at::Tensor saturated(const at::Tensor& tensor) {
  if (!simcann_saturates()) return tensor;
  at::AutoDispatchBelowADInplaceOrView below;
  if (at::isComplexType(tensor.scalar_type()))
    return at::view_as_complex(at::nan_to_num(at::view_as_real(tensor.resolve_conj()), 0.0));
  return at::isFloatingType(tensor.scalar_type()) ? at::nan_to_num(tensor, 0.0) : tensor;
}

}  // namespace simcann
