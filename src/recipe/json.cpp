#include "lockstep/recipe/json.h"

#include "lockstep/core/error.h"

namespace lockstep::recipe {
namespace {

class JsonWriter final : public Fields {
 public:
  void field(std::string_view name, std::int64_t& value, std::int64_t, std::int64_t, Effect,
             std::string_view) override {
    put(name, value);
  }
  void field(std::string_view name, double& value, double, double, Effect,
             std::string_view) override {
    put(name, value);
  }
  void field(std::string_view name, bool& value, Effect, std::string_view) override {
    put(name, value);
  }
  void field(std::string_view name, std::string& value, Effect, std::string_view) override {
    put(name, value);
  }
  void field(std::string_view name, std::vector<std::int64_t>& value, std::int64_t, std::int64_t,
             Effect, std::string_view) override {
    put(name, value);
  }
  void field(std::string_view name, std::vector<double>& value, double, double, Effect,
             std::string_view) override {
    put(name, value);
  }
  void choice(std::string_view name, std::string& value, const std::vector<std::string>&, Effect,
              std::string_view) override {
    put(name, value);
  }
  void begin(std::string_view name, std::string_view) override {
    path_.emplace_back(name);
    above_.push_back(std::move(now_));
    now_ = Json::object();
  }
  void end() override {
    Json whole = std::move(above_.back());
    whole[path_.back()] = std::move(now_);
    now_ = std::move(whole);
    above_.pop_back();
    path_.pop_back();
  }

  Json take() { return std::move(now_); }

 private:
  template <class Value>
  void put(std::string_view name, const Value& value) {
    now_[name] = Json(value);
  }

  Json now_ = Json::object();
  std::vector<Json> above_;
  std::vector<std::string> path_;
};

}  // namespace

Json to_json(const model::Options& options) {
  model::Options copy = options;  // describe() is for readers, too
  JsonWriter writer;
  describe(writer, copy);
  return writer.take();
}

}  // namespace lockstep::recipe
