#include "audit/classifier_claims.h"

#include <algorithm>
#include <iterator>

#include "audit/findings.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/train/interval.h"

namespace lockstep::audit {
namespace {

namespace stdfs = std::filesystem;

class KeptClassifier : public Findings {
 public:
  KeptClassifier(FileSystem& fs, const recipe::Recipe& recipe) : Findings(fs), recipe_(recipe) {}

  void folder(const stdfs::path& place) {
    const bool evaluates = recipe_.evaluation.every > 0;
    bool kept = false;
    require_folder(place);
    for (const std::string& name : files_of(place, names_in(place))) {
      const stdfs::path path = place / name;
      if (evaluates && checkpoint::step_of(name)) {
        kept = true;
        file(path);
      } else if (!evaluates ||
                 !checkpoint::step_of_sidecar(name)) {  // a kill leaves a sidecar alone
        foreign(path);
      }
    }
    if (evaluates && !kept)
      result.notes.push_back(place.string() +
                             " has no copy of the classifier of [evaluation]: replay needs it "
                             "from elsewhere (--features)");
  }

 private:
  void file(const stdfs::path& path) {
    attempt([&] {
      if (const auto what = train::not_the_classifier(fs_, path, recipe_)) differ(*what);
      return true;
    });
  }

  const recipe::Recipe& recipe_;
};

}  // namespace

void check_classifier(FileSystem& fs, const train::RunFolder& folder, const recipe::Recipe& recipe,
                      VerifyResult& result) {
  KeptClassifier kept(fs, recipe);
  kept.folder(folder.features());
  std::ranges::move(kept.result.findings, std::back_inserter(result.findings));
  std::ranges::move(kept.result.notes, std::back_inserter(result.notes));
}

}  // namespace lockstep::audit
