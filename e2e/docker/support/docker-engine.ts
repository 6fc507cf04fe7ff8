import { systemClock } from "@virtual-kubelet/clock";
import { silentLogger } from "@virtual-kubelet/kube-client";
import { inject } from "vitest";
import { connectEngine } from "../../../providers/docker/src/engine/connect-engine.ts";
import type { DockerEngine } from "../../../providers/docker/src/engine/docker-engine.ts";
import { EngineApi } from "./engine-api.ts";

/** Client of the engine that all files of the level share, independent of the provider's code. */
export function sharedApi(): EngineApi {
  return new EngineApi(inject("dockerHost"));
}

/** Connects to that engine with the provider's code. */
export function connectShared(): DockerEngine & Disposable {
  const endpoint = { kind: "unix", socketPath: sharedApi().socketPath } as const;
  return connectEngine({ endpoint, clock: systemClock, logger: silentLogger });
}
