import { join } from "node:path";
import { describeProvider, requiredFeatures } from "@virtual-kubelet/testing/conformance";
import { mockOptions } from "./support/good-providers.ts";
import { reportFile, root } from "./support/paths.ts";

await describeProvider({
  ...mockOptions(),
  required: requiredFeatures.mock,
  readme: join(root, "providers/mock/README.md"),
  report: reportFile("mock"),
});
