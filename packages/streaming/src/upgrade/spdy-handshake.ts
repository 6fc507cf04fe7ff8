import type { Clock } from "@virtual-kubelet/clock";
import { ForbiddenError, InvalidInputError } from "@virtual-kubelet/errdefs";
import { acceptUpgrade, refuseUpgrade } from "./answer.ts";
import { type IncomingUpgrade, isSpdyRequest } from "./incoming-upgrade.ts";

/** Header with the versions of the protocol over SPDY: in requests one header each, in order of preference; in responses the chosen one. */
export const versionHeader = "X-Stream-Protocol-Version";

/**
 * Answers a request for SPDY: with an upgrade to the client's first version that is supported, or with a kubelet's refusal.
 *
 * @throws InvalidInputError, ForbiddenError when it was refused
 *
 * Source: kubernetes v1.36.3 k8s.io/streaming httpstream.go and spdy/upgrade.go.
 */
export function acceptSpdy<Version extends string>(upgrade: IncomingUpgrade, versions: readonly Version[], clock: Clock): Version {
  const { request, socket } = upgrade;
  const refuse = <Failure extends Error>(
    statusCode: number,
    failure: Failure,
    headers?: readonly (readonly [string, string])[],
  ): Failure => {
    refuseUpgrade(socket, { statusCode, text: failure.message, headers }, clock);
    return failure;
  };
  const offers = offeredVersions(request.headers[versionHeader.toLowerCase()]);
  if (offers.length === 0) {
    const count = Object.keys(request.headers).length;
    throw refuse(400, new InvalidInputError(`unable to upgrade: header ${versionHeader} does not exist in request with ${count} headers`));
  }
  const chosen = offers.map((offer) => versions.find((version) => version === offer)).find((version) => version !== undefined);
  if (chosen === undefined) {
    const text = `unable to upgrade: unable to negotiate protocol: client supports [${offers.join(" ")}], server accepts [${versions.join(" ")}]`;
    throw refuse(
      403,
      new ForbiddenError(text),
      versions.map((version) => ["X-Accepted-Stream-Protocol-Versions", version] as const),
    );
  }
  if (!isSpdyRequest(request)) throw refuse(400, new InvalidInputError("unable to upgrade: missing upgrade headers in request"));
  acceptUpgrade(socket, [
    ["Upgrade", "SPDY/3.1"],
    [versionHeader, chosen],
  ]);
  return chosen;
}

/** Node.js joins repeated headers with commas, and clients may do so too. */
function offeredVersions(value: string | readonly string[] | undefined): string[] {
  return [value ?? []]
    .flat()
    .flatMap((each) => each.split(","))
    .map((version) => version.trim())
    .filter((version) => version !== "");
}
