import { join } from "node:path";
import { isExecutable } from "../packages/testing/src/control-plane/find-control-plane.ts";
import { buildBeside } from "./build-beside.ts";
import { findGo, GoModule, type Environment } from "./go-module.ts";

const module = new GoModule("moby-engine");

/** Programs of an engine, and their build flags. */
const programs = [
  { main: "github.com/moby/moby/v2/cmd/dockerd", tags: "exclude_graphdriver_btrfs,no_systemd", cgo: "0" },
  { main: "github.com/moby/moby/v2/cmd/docker-proxy", tags: "", cgo: "0" },
  { main: "github.com/opencontainers/runc", tags: "seccomp", cgo: "1" },
] as const;

/**
 * Folder with a `dockerd` of today, its `docker-proxy` and its `runc`: the one that `MOBY_ENGINE` names, or built once.
 *
 * @throws Error if they cannot be built, with Go's words
 */
export async function ensureMobyEngine(environment: Environment = process.env): Promise<string> {
  const directory = environment["MOBY_ENGINE"] || module.builtFolder(environment);
  if (programs.every(({ main }) => isExecutable(join(directory, nameOf(main))))) return directory;
  const go = findGo(environment);
  if (go === undefined) throw new Error("there is no Go on the PATH to build an engine with (https://go.dev/dl, 1.26 or newer)");
  console.log(`a Docker engine is built once with ${go} into ${directory}: some minutes`);
  await buildBeside(directory, async (output) => {
    for (const { main, tags, cgo } of programs) {
      const args = ["build", "-trimpath", "-tags", tags, "-ldflags", ldflags, "-o", join(output, nameOf(main)), main];
      await module.build(go, args, { CGO_ENABLED: cgo });
    }
  });
  return directory;
}

/** Linker flags for the version, because a program built as a module does not know its version and an engine must report one. */
const ldflags = "-s -w -X github.com/moby/moby/v2/dockerversion.Version=29.0.0-moby-2.0.0-beta.18";

function nameOf(main: string): string {
  return main.split("/").at(-1) ?? main;
}
