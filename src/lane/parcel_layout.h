// Where the slices of tensors that travel together lie in sealed messages: one parcel for each
// rank's slices, in it the tensors' slices one behind the other.
#pragma once

#include <string>
#include <vector>

#include "lane/parcel.h"
#include "lockstep/lane/context.h"

namespace lockstep::lane {

// Tiles that arrived and are used before anybody knows whether they are as they were sent: of each
// row, if it is not, what to say.
struct Arrived {
  struct Row {
    std::size_t piece;
    std::int64_t first;  // float of the piece
    std::size_t owner;   // the rank whose slice it is of
    std::size_t sender;
  };
  std::vector<Row> rows;
  Tensor broken;  // of each row 0 or 1 (Device::sum_sealed), on its side
};

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
  Parcel parcel(const Side& side, Rank rank, std::size_t rows) const;
  // A parcel for each rank's slices.
  std::vector<Parcel> parcels(const Side& side) const;

  // Copies every rank's slices from its parcel (this rank's own did not travel) into `wholes`, one
  // tensor of the side a piece. No parcels: nothing arrived here.
  Arrived unpack(const Side& side, const std::vector<Parcel>& parcels, const comm::Group& group,
                 const std::vector<Tensor>& wholes) const;

  // Throws Error(kDiffer), naming tensor, elements and both ranks, unless all of it is as it was
  // sent: before anything rests on it. The host waits once.
  void require_intact(const Side& side, const std::vector<const Arrived*>& arrived,
                      const comm::Group& group) const;

 private:
  std::vector<Piece> pieces_;
};

}  // namespace lockstep::lane
