// Private: all members of Device<Gpu>.
#pragma once

#include "numerics/cuda/capture-inl.h"
#include "numerics/cuda/draws-inl.h"
#include "numerics/cuda/elementwise-inl.h"
#include "numerics/cuda/float_conv-inl.h"
#include "numerics/cuda/float_products-inl.h"
#include "numerics/cuda/integer-inl.h"
#include "numerics/cuda/layer_norm-inl.h"
#include "numerics/cuda/leaf-inl.h"
#include "numerics/cuda/norm-inl.h"
#include "numerics/cuda/products-inl.h"
#include "numerics/cuda/resample-inl.h"
#include "numerics/cuda/round-inl.h"
#include "numerics/cuda/sealed-inl.h"
#include "numerics/cuda/softmax-inl.h"
#include "numerics/cuda/sums-inl.h"
#include "numerics/cuda/update-inl.h"
