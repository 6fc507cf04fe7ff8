import { provider } from "@virtual-kubelet/example-process-provider";
import { contractFeatures, describeProvider, shellPrograms } from "@virtual-kubelet/testing/conformance";
import { reportFile } from "./support/paths.ts";

// The provider of the guide: six methods, and nothing that it does not claim.
await describeProvider({
  provider,
  required: [...contractFeatures, "notifications", "environment"],
  lacks: { networks: "a process has no address of its own" },
  programs: shellPrograms({ image: "none" }),
  podsOutliveProgram: false,
  report: reportFile("example-process"),
});
