import type { FakeEngineRoutes } from "./fake-engine-server.ts";

/** The engine's answer to an inspection of the container `c`. */
export function inspected({
  tty = false,
  running = true,
}: { readonly tty?: boolean; readonly running?: boolean } = {}): FakeEngineRoutes["answers"] {
  const json = {
    Id: "c",
    State: { Running: running, Pid: 4, StartedAt: "2026-11-21T07:20:44Z" },
    Config: { Tty: tty, OpenStdin: true, Labels: null },
    HostConfig: { NetworkMode: "bridge" },
    LogPath: "",
  };
  return { "GET /containers/c/json": () => ({ status: 200, json }) };
}
