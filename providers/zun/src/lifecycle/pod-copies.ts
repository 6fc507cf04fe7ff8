import { objectName } from "../pod/pod-labels.ts";
import { oldestFirst, type Observation, type UnreadObject } from "../status/observation.ts";
import type { PodRegistry } from "../status/pod-registry.ts";

/**
 * The objects that somebody else has made with the labels of a pod of the node, and that are not the pod.
 *
 * The program gives a pod's object a name that is made of the pod's; who copies the labels gives another. A pod may have been renamed, though:
 * an object with another name is the pod where it is the one that was known last, or where nothing is known of the pod and none has its name.
 *
 * @param found - all that Zun's lists hold of the node, also what could not be read
 */
export function copiesAmong(
  found: readonly (Observation | UnreadObject)[],
  registry: Pick<PodRegistry, "lastUuid">,
): ReadonlySet<Observation | UnreadObject> {
  const names = new Set(found.map(({ name }) => name));
  const copies = new Set<Observation | UnreadObject>();
  for (const [uid, objects] of Map.groupBy(found, (each) => refIn(each)?.uid)) {
    if (uid === undefined) continue;
    const others = objects.filter(isNamedOtherwise);
    const pod = hasPodsName(objects, others, names) ? undefined : (registry.lastUuid(uid) ?? firstUuid(others));
    for (const each of others) if (pod === undefined || each.uuid !== pod) copies.add(each);
  }
  return copies;
}

type Found = Observation | UnreadObject;

function refIn(found: Found): UnreadObject["ref"] {
  return "status" in found ? found.labels.ref : found.ref;
}

function isNamedOtherwise(found: Found): boolean {
  const ref = refIn(found);
  return ref !== undefined && found.name !== undefined && found.name !== objectName(ref);
}

/** Whether one has the pod's name, or may have it: of an object whose labels cannot be read no more than the name is known. */
function hasPodsName(objects: readonly Found[], others: readonly Found[], names: ReadonlySet<string | undefined>): boolean {
  const [ref] = objects.flatMap((each) => refIn(each) ?? []);
  return objects.length > others.length || (ref !== undefined && names.has(objectName(ref)));
}

function firstUuid(objects: readonly Found[]): string | undefined {
  const [oldest] = oldestFirst(objects.filter((each) => "status" in each));
  return oldest?.uuid ?? objects[0]?.uuid;
}
