// Debian 12's libgloo-dev lacks this header, which its own tcp/pair.h includes. It holds what gives
// Gloo's classes their size, as in Gloo's commit 5b14351; the rest is in the library.
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr final {
  std::shared_ptr<T> ptr_;
};

template <typename T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> ptr_;
};

template <typename T>
class ShareableNonOwningPtr final {
  std::shared_ptr<T> ptr_;
};

}  // namespace gloo
