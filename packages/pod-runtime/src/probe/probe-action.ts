import type { Container, DeepReadonly } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { grpcCheck } from "./grpc-check.ts";
import { httpCheck } from "./http-check.ts";
import type { ProbeAttempt } from "./prober.ts";
import type { ProbeSpec } from "./probe-schedule.ts";
import { tcpCheck } from "./tcp-check.ts";
import { execCapture } from "../runtime/exec-capture.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";

/** Where a probe is to go. */
export interface ProbeTarget {
  readonly runtime: Pick<ContainerRuntime, "exec">;
  /** The runtime's id of the instance. */
  readonly id: string;
  readonly container: DeepReadonly<Container>;
  /** The pod's address, for checks that name no host. */
  readonly podIP: string | undefined;
}

/**
 * Makes one attempt of a probe.
 *
 * @throws InvalidInputError for a probe without an action, a port that has no number, a pod without an address
 */
export async function probeOnce(spec: ProbeSpec, target: ProbeTarget, signal: AbortSignal): Promise<ProbeAttempt> {
  const { exec, httpGet, tcpSocket, grpc } = spec;
  if (exec) {
    const { exitCode, output } = await execCapture(target.runtime, target.id, { command: exec.command ?? [], signal });
    return { isSuccess: exitCode === 0, output };
  }
  if (httpGet) return httpCheck({ url: httpUrl(httpGet, target), headers: httpGet.httpHeaders ?? [] }, signal);
  if (tcpSocket) return tcpCheck({ host: tcpSocket.host || addressOf(target), port: portNumber(tcpSocket.port, target) }, signal);
  if (grpc) return grpcCheck({ host: addressOf(target), port: grpc.port, service: grpc.service ?? "" }, signal);
  throw new InvalidInputError(`probe container ${target.container.name}: it names none of exec, httpGet, tcpSocket and grpc`);
}

/** The URL of an HTTP probe or hook. */
export function httpUrl(action: NonNullable<ProbeSpec["httpGet"]>, target: ProbeTarget): URL {
  const host = action.host || addressOf(target);
  const authority = `${host.includes(":") ? `[${host}]` : host}:${portNumber(action.port, target)}`;
  const path = action.path || "/";
  return new URL(`${(action.scheme || "HTTP").toLowerCase()}://${authority}${path.startsWith("/") ? path : `/${path}`}`);
}

function addressOf({ podIP, container }: ProbeTarget): string {
  if (podIP === undefined) throw new InvalidInputError(`probe container ${container.name}: the pod has no address`);
  return podIP;
}

/** A port by number, or by its name in the container. */
function portNumber(port: number | string, { container }: ProbeTarget): number {
  const found = typeof port === "number" ? port : container.ports?.find(({ name }) => name === port)?.containerPort;
  const number = found ?? Number(port);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new InvalidInputError(
    `probe container ${container.name}: ${JSON.stringify(port)} is neither a port nor the name of one of its ports`,
  );
}
