import type { Clock, Random } from "@virtual-kubelet/clock";
import { isUnauthorized, isUnavailable, messageOf } from "@virtual-kubelet/errdefs";
import type { KubeClient, Logger } from "@virtual-kubelet/kube-client";
import { askUntilAnswered } from "./ask-until-answered.ts";

/**
 * Reads the API server's release, such as `v1.34.2`, without vendors' suffixes. Waits for a server that does not answer yet.
 *
 * @returns `undefined` if the server does not report it
 */
export async function readApiServerVersion(
  client: KubeClient,
  options: { readonly clock: Clock; readonly random: Random; readonly logger: Logger },
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const answer = await askUntilAnswered(
      () => client.raw("GET", "/version", undefined, { signal }),
      (error) => !isUnavailable(error) && !isUnauthorized(error),
      options,
      signal,
    );
    return releaseOf(answer);
  } catch (error) {
    signal.throwIfAborted();
    options.logger.warn({ err: messageOf(error) }, "the API server does not report its version; the node reports the program's own");
    return undefined;
  }
}

/** Returns the release in an API server's answer of `/version`, such as `v1.34.2`; `undefined` if there is none. */
export function releaseOf(answer: unknown): string | undefined {
  const version = typeof answer === "object" && answer !== null && "gitVersion" in answer ? answer.gitVersion : undefined;
  return typeof version === "string" ? /^v\d+\.\d+\.\d+/.exec(version)?.[0] : undefined;
}
