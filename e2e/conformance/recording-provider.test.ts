import { contractFeatures, describeProvider } from "@virtual-kubelet/testing/conformance";
import { recordingOptions } from "./support/good-providers.ts";
import { reportFile } from "./support/paths.ts";

const pretends = "the pretend back end runs no containers";

await describeProvider({
  ...recordingOptions(),
  required: [...contractFeatures, "adoption", "notifications", "node", "networks"],
  lacks: {
    environment: pretends,
    files: pretends,
    restarts: pretends,
    "init-containers": pretends,
    "multiple-containers": pretends,
  },
  report: reportFile("recording"),
});
