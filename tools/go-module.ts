import { join } from "node:path";
import { cacheDirectory, moduleHash, onPath } from "../packages/testing/src/control-plane/find-control-plane.ts";
import { run } from "./run.ts";
import { root } from "./workspace.ts";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A Go module in `tools/` that pins the sources of programs that tests need. */
export class GoModule {
  /** Where it is. */
  readonly folder: string;
  readonly #name: string;

  /** @param name - of its folder, and of its programs' folder in the cache */
  constructor(name: string) {
    this.#name = name;
    this.folder = join(root, "tools", name);
  }

  /** Cache folder of the programs built from the module's current state. */
  builtFolder(environment: Environment): string {
    return join(cacheDirectory(this.#name, environment), moduleHash(this.folder));
  }

  /** Runs `go build` or `go test -c` in it. @throws Error with Go's words */
  async build(go: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
    const { code, output } = await run(go, args, { cwd: this.folder, env, timeoutMs: 1_800_000 });
    if (code !== 0) throw new Error(`go ${args.join(" ")} in ${this.folder}, whose README says what it takes: ${output}`);
  }
}

/** Path of Go, or `undefined`. */
export function findGo(environment: Environment): string | undefined {
  return onPath("go", environment["PATH"] ?? "");
}
