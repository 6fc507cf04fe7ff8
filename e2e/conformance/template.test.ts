import { join } from "node:path";
import { describeProvider, requiredFeatures, shellPrograms } from "@virtual-kubelet/testing/conformance";
import { provider } from "../../templates/provider/src/index.ts";
import { reportFile, root } from "./support/paths.ts";

// What new providers start from, as test/conformance.test.ts there runs it in theirs.
await describeProvider({
  provider,
  required: requiredFeatures.template,
  lacks: { networks: "a process has no address of its own", "exec-tty": "a process has no terminal" },
  programs: shellPrograms({ image: "none" }),
  podsOutliveProgram: false,
  readme: join(root, "templates/provider/README.md"),
  against: { kind: "own", name: "processes of the machine" },
  report: reportFile("template"),
});
