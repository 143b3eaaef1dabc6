// What commands say of a data set: how many samples of which sizes, and how its values spread.
#pragma once

#include <string>
#include <vector>

#include "lockstep/core/json.h"
#include "lockstep/data/images.h"
#include "lockstep/data/moments.h"

namespace lockstep::cli {

// "images", "height", "width", "channels"; "fields" likewise; "signals", "length".
void put_shape(Json& out, const data::ImageShape& shape);

// "1 image", "3 fields".
std::string counted_samples(const data::ImageShape& shape);

// One a channel, at least one. "values", and of several channels "channel_values": mean, deviation,
// min, max.
void put_moments(Json& out, const std::vector<data::Moments>& channels);
// A line of all values, and of several channels one of each; and a warning where the data are far
// from standardised.
void print_moments(const std::vector<data::Moments>& channels);
void warn_of_moments(const std::vector<data::Moments>& channels);
// Fields of 0 to 1 in 1 or 3 channels may be pictures that nobody meant as fields.
void warn_of_pictures(const data::ImageShape& shape, const std::vector<data::Moments>& channels);

}  // namespace lockstep::cli
