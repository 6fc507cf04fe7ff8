/**
 * Virtual Kubelet provider that runs pods on a Docker engine.
 *
 * @packageDocumentation
 */
export type { DockerEngine, EngineEndpoint, EngineRequest, EngineTls } from "./engine/docker-engine.ts";
