// Where the slices of tensors that travel together lie in sealed messages: one parcel for each
// rank's slices, in it the tensors' slices one behind the other.
#pragma once

#include <string>
#include <vector>

#include "lane/parcel.h"
#include "lockstep/lane/context.h"

namespace lockstep::lane {

class ParcelLayout {
 public:
  struct Piece {
    std::string what;  // for messages: "gradient of generator/output [64 x 2]"
    Division division;
  };
  // At least one piece, all divided among the same ranks.
  explicit ParcelLayout(std::vector<Piece> pieces) : pieces_(std::move(pieces)) {}

  // The slices that fall to a rank, one a piece.
  std::vector<Slice> of(Rank rank) const;
  // A parcel for `rows` rows of a rank's slices.
  Parcel parcel(Rank rank, std::size_t rows) const;
  // A parcel for each rank's slices.
  std::vector<Parcel> parcels() const;
  // Throws Error(kDiffer) unless a tile is as it was sent: the one that begins with float `first`
  // of piece `piece`. parcel: rows of rank `owner`'s slices, sent by rank `sender`.
  void require_intact(const Parcel& parcel, std::size_t piece, std::int64_t first, Rank owner,
                      std::size_t sender, const comm::Group& group) const;
  // Copies every rank's slices from its parcel (this rank's own did not travel) into `wholes`, one
  // tensor a piece. No parcels: nothing arrived here.
  void unpack(std::vector<Parcel>& parcels, const comm::Group& group,
              const std::vector<Tensor>& wholes) const;

 private:
  void unpack(Parcel& parcel, Rank owner, const comm::Group& group,
              const std::vector<Tensor>& wholes) const;

  std::vector<Piece> pieces_;
};

std::vector<ByteView> views(const std::vector<Parcel>& parcels);
std::vector<MutableByteView> views(std::vector<Parcel>& parcels);

}  // namespace lockstep::lane
