// How a picture's camera was held. Private to the decoders.
#pragma once

#include "lockstep/core/bytes.h"
#include "lockstep/data/png.h"

namespace lockstep::data {

// The orientation, 1 to 8, that stands in an APP1 segment's contents: tag 0x0112 of the first
// directory (Exif 2.3, "Orientation"). 1, nothing to be done, where it stands nowhere, and where
// anything is out of bounds or of another form.
int exif_orientation(ByteView app1);

// The picture as it is meant to be seen: row and column 0 of the file lie where `orientation`
// says. LOCKSTEP_ASSERTs 1 to 8.
Picture upright(Picture picture, int orientation);

}  // namespace lockstep::data
