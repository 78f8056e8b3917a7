// logits_of CKPT TOKEN…: what a checkpoint's model thinks may follow each of the tokens, one line a token: vocab_size
// numbers. For transformers_test.sh.
#include <cstdio>
#include <exception>

#include "app/inference/checkpoint_model.hpp"
#include "model/gpt_decoder.hpp"

int main(int argc, char** argv) try {
  tenax::app::CheckpointModel model(argv[1]);
  tenax::model::GptDecoder decoder(model.config(), model.alone(), model.device(), model.stream());
  decoder.bind(model.load(decoder.parameters()));
  for (int i = 2; i < argc; ++i) {
    const std::int32_t token = std::stoi(argv[i]);
    if (decoder.length() == 0)
      decoder.start({&token, 1});
    else
      decoder.append(token);
    for (const float logit : decoder.logits(tenax::kernels::Deadline::after_s(60)))
      std::printf("%.9g ", logit);
    std::printf("\n");
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "logits_of: %s\n", error.what());
  return 1;
}
