import { onPath } from "../packages/testing/src/control-plane/find-control-plane.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Names under which systems install Chromium or a browser that is made of it. */
const programs = ["chromium", "chromium-browser", "google-chrome"] as const;

/** Path of the browser: `CHROMIUM`, or the first known program on the `PATH`; `undefined` if there is none. */
export function findChromium(environment: Environment = process.env): string | undefined {
  const path = environment["PATH"] ?? "";
  return environment["CHROMIUM"] || programs.map((program) => onPath(program, path)).find((found) => found !== undefined);
}

/** Reason why no browser can be started, and how to get one; `undefined` if there is one. */
export function missingChromium(environment: Environment = process.env): string | undefined {
  if (findChromium(environment) !== undefined) return undefined;
  return `there is no ${programs.join(" or ")} on the PATH: apt-get install chromium, or set CHROMIUM to the path of one`;
}
