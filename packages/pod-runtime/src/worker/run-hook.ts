import type { Clock, Container, DeepReadonly } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { PodNotice } from "../pod/pod-effect.ts";
import { httpGet, type HttpCheck } from "../probe/http-check.ts";
import { httpUrl, type ProbeTarget } from "../probe/probe-action.ts";
import { execCapture } from "../runtime/exec-capture.ts";

/** A lifecycle hook of the spec. */
export type HookSpec = NonNullable<NonNullable<DeepReadonly<Container>["lifecycle"]>["postStart"]>;

export interface HookTarget extends ProbeTarget {
  readonly clock: Clock;
  tell(notice: PodNotice): void;
}

/**
 * Runs a postStart or preStop hook. Like a kubelet, any HTTP response counts as success. Source: kubernetes v1.36.3
 * pkg/kubelet/lifecycle/handlers.go.
 *
 * @throws InvalidInputError for a hook without an action; an Error that says why the hook failed
 */
export async function runHook(hook: HookSpec, target: HookTarget, signal: AbortSignal): Promise<void> {
  if (hook.exec) {
    const { exitCode, output } = await execCapture(target.runtime, target.id, { command: hook.exec.command ?? [], signal });
    if (exitCode !== 0)
      throw new Error(`command '${(hook.exec.command ?? []).join(" ")}' exited with ${exitCode}, message: ${JSON.stringify(output)}`);
  } else if (hook.httpGet) {
    await askByHttp({ url: httpUrl(hook.httpGet, target), headers: hook.httpGet.httpHeaders ?? [] }, target, signal);
  } else if (hook.sleep) await target.clock.sleep(hook.sleep.seconds * 1000, signal);
  else throw new InvalidInputError(`run a hook of container ${target.container.name}: it has none of exec, httpGet and sleep`);
}

/** Falls back from HTTPS to HTTP, without credentials and with an event, if the server does not speak TLS. */
async function askByHttp({ url, headers }: HttpCheck, { tell }: Pick<HookTarget, "tell">, signal: AbortSignal): Promise<void> {
  try {
    await httpGet({ url, headers }, "lifecycle", signal);
  } catch (error) {
    signal.throwIfAborted();
    if (url.protocol !== "https:" || !isNoTls(error)) throw error;
    // A URL omits HTTPS's default port.
    const host = `${url.hostname}:${url.port || "443"}`;
    const plain = new URL(`http://${host}${url.pathname}${url.search}`);
    // Reports the first failure, because the spec does not mention HTTP.
    await httpGet({ url: plain, headers: headers.filter(({ name }) => name.toLowerCase() !== "authorization") }, "lifecycle", signal).catch(
      () => {
        signal.throwIfAborted();
        throw error;
      },
    );
    const message = `request to HTTPS lifecycle hook ${host} got HTTP response, retry with HTTP succeeded`;
    tell({ kind: "event", type: "Warning", reason: "LifecycleHTTPFallback", message });
  }
}

/** Whether the server does not speak TLS. */
function isNoTls(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  return code === "EPROTO" || code.startsWith("ERR_SSL_");
}
