import type { Clock, Container, DeepReadonly } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { httpCheck } from "../probe/http-check.ts";
import { httpUrl, type ProbeTarget } from "../probe/probe-action.ts";
import { execCapture } from "../runtime/exec-capture.ts";

/** A container's hook, as the spec has it. */
export type HookSpec = NonNullable<NonNullable<DeepReadonly<Container>["lifecycle"]>["postStart"]>;

/**
 * Runs a postStart or preStop hook.
 *
 * @throws InvalidInputError for a hook without an action; an Error that says how it failed
 */
export async function runHook(hook: HookSpec, target: ProbeTarget & { readonly clock: Clock }, signal: AbortSignal): Promise<void> {
  if (hook.exec) {
    const { exitCode, output } = await execCapture(target.runtime, target.id, { command: hook.exec.command ?? [], signal });
    if (exitCode !== 0)
      throw new Error(`command '${(hook.exec.command ?? []).join(" ")}' exited with ${exitCode}, message: ${JSON.stringify(output)}`);
  } else if (hook.httpGet) {
    const { isSuccess, output } = await httpCheck({ url: httpUrl(hook.httpGet, target), headers: hook.httpGet.httpHeaders ?? [] }, signal);
    if (!isSuccess) throw new Error(output);
  } else if (hook.sleep) await target.clock.sleep(hook.sleep.seconds * 1000, signal);
  else throw new InvalidInputError(`run a hook of container ${target.container.name}: it names none of exec, httpGet and sleep`);
}
