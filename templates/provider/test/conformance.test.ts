import { join } from "node:path";
import { after, describe, test } from "node:test";
import { describeProvider, requiredFeatures, shellPrograms } from "@virtual-kubelet/testing/conformance";
import { provider } from "../src/index.ts";

await describeProvider({
  runner: { after, describe, test },
  provider,
  required: requiredFeatures.template,
  lacks: { networks: "a process has no address of its own", "exec-tty": "a process has no terminal" },
  programs: shellPrograms({ image: "none" }),
  podsOutliveProgram: false,
  readme: join(import.meta.dirname, "../README.md"),
});
