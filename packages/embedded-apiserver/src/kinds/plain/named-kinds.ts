import type { Kind } from "../kind.ts";
import { plainKinds } from "./plain-kinds.ts";

/** Plain kinds that controllers write. */
export const endpointsKind: Kind = named("", "endpoints");
export const endpointSliceKind: Kind = named("discovery.k8s.io", "endpointslices");
export const ipAddressKind: Kind = named("networking.k8s.io", "ipaddresses");
export const serviceCidrKind: Kind = named("networking.k8s.io", "servicecidrs");

function named(group: string, plural: string): Kind {
  const kind = plainKinds.find((each) => each.group === group && each.plural === plural);
  if (kind === undefined) throw new RangeError(`there is no plain kind ${plural}.${group}`);
  return kind;
}
