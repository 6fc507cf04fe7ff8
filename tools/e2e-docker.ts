/** Runs the Docker provider's tests on a current engine. `make e2e-docker` calls it. */
import { ensureMobyEngine } from "./moby-engine.ts";
import { run } from "./run.ts";

const tests = ["--conditions=@virtual-kubelet/source", "tools/test.ts"];
const { code } = await run(process.execPath, tests, { env: { LEVEL: "docker", PATH: await ensureMobyEngine() }, output: "inherit" });
process.exitCode = code;
