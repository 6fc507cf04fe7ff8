import { join } from "node:path";
import { provider } from "@virtual-kubelet/provider-mock";
import { describeProvider, requiredFeatures } from "@virtual-kubelet/testing/conformance";
import { mockPrograms } from "./support/mock-programs.ts";
import { reportFile, root } from "./support/paths.ts";

await describeProvider({
  provider,
  required: requiredFeatures.mock,
  config: { pods: 100 },
  programs: mockPrograms,
  podsOutliveProgram: false,
  readme: join(root, "providers/mock/README.md"),
  report: reportFile("mock"),
});
