#include "lane/side.h"

#include <algorithm>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/sealed.h"
#include "lockstep/numerics/spec/shapes.h"
#include "lockstep/ops/record.h"

namespace lockstep::lane {
namespace {

std::int64_t floats_of(const std::vector<Tensor>& tensors) {
  std::int64_t floats = 0;
  for (const Tensor& one : tensors) floats += one.numel();
  return floats;
}

// A tensor's pieces, as large as `like`, one behind the other.
std::vector<Tensor> pieces(const Tensor& joined, const std::vector<Tensor>& like) {
  std::vector<Tensor> all;
  std::int64_t first = 0;
  for (const Tensor& one : like) {
    all.push_back(joined.narrow(0, first, one.numel()).view(one.sizes()));
    first += one.numel();
  }
  return all;
}

// Between tensors of this thread's device, by one call.
void copy(const std::vector<Tensor>& from, const std::vector<Tensor>& to) {
  std::vector<numerics::SealedRow> rows;
  std::vector<numerics::SealedTile> tiles;
  for (std::size_t i = 0; i < from.size(); ++i) {
    for (std::int64_t first = 0; first < from[i].numel(); first += numerics::kTileFloats) {
      rows.push_back({from[i].const_data_ptr<float>() + first, nullptr});
      tiles.push_back({to[i].mutable_data_ptr<float>() + first,
                       std::min(numerics::kTileFloats, from[i].numel() - first), nullptr});
    }
  }
  const numerics::Subtree one{0, 1};
  ops::device().sum_sealed(1, {&one, 1}, rows, tiles, nullptr);
}

}  // namespace

Side Side::host() {
  return {ops::device().host(), at::kCPU, comm::Memory::kHost};
}

Side::Side(const comm::Group& group) : Side(host()) {
  if (!group.takes_device_memory() || ops::tensors_device().is_cpu()) return;
  device_ = &ops::device();
  tensors_ = ops::tensors_device();
  memory_ = comm::Memory::kDevice;
}

void Side::settle() const {
  device_->record_event()->wait();
}

Tensor Side::empty(at::IntArrayRef sizes) const {
  return ops::empty_on(tensors_, sizes);
}

std::vector<Tensor> Side::bring(const std::vector<Tensor>& tensors) const {
  for (const Tensor& one : tensors) LOCKSTEP_ASSERT(one.is_contiguous());
  if (tensors_ == ops::tensors_device()) return tensors;
  const Tensor joined = ops::empty({floats_of(tensors)});
  copy(tensors, pieces(joined, tensors));
  return pieces(ops::to_host(joined), tensors);
}

std::vector<Tensor> Side::read(const std::vector<Tensor>& tensors) const {
  return tensors_.is_cpu() ? tensors : ops::to_host(tensors);
}

StandIns::StandIns(const Side& side, std::vector<Tensor> of) : of_(std::move(of)), tensors_(of_) {
  if (side.tensors_ == ops::tensors_device()) return;
  joined_ = side.empty({floats_of(of_)});
  tensors_ = pieces(joined_, of_);
}

const std::vector<Tensor>& StandIns::bring_back() const {
  if (joined_.defined())
    copy(pieces(ops::from_host(ops::HostView(joined_).floats(), joined_.sizes()), of_), of_);
  return of_;
}

}  // namespace lockstep::lane
