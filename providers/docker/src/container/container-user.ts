import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** User of a container, in the engine's form. */
export interface ContainerUser {
  /** `uid`, `uid:gid`, or empty for the image's user. */
  readonly user: string;
  /** Supplementary groups. */
  readonly groups: readonly string[];
}

/**
 * User of a container. A user without a group keeps the groups of the image; with a group, the engine drops them, which is the meaning of
 * `supplementalGroupsPolicy: Strict`.
 *
 * @param imageUser - the image's user; empty: root
 * @throws InvalidInputError if a group is set and the image names its user by name, or for Strict without user and group
 */
export function containerUser(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>, imageUser: string): ContainerUser {
  const { uid, gid } = askedUser(pod, container);
  const shared = pod.spec?.securityContext;
  if (shared?.supplementalGroupsPolicy === "Strict" && (uid === undefined || gid === undefined)) {
    throw new InvalidInputError(
      `run container ${container.name} with supplementalGroupsPolicy Strict: expected runAsUser and runAsGroup, without them the engine adds the image's groups`,
    );
  }
  const groups = [...(shared?.fsGroup === undefined ? [] : [shared.fsGroup]), ...(shared?.supplementalGroups ?? [])];
  return { user: userOf(uid, gid, imageUser), groups: [...new Set(groups.map(String))] };
}

/** Whether {@link containerUser} needs the image's user. */
export function needsImageUser(pod: DeepReadonly<Pod>, container: DeepReadonly<Container>): boolean {
  const { uid, gid } = askedUser(pod, container);
  return uid === undefined && gid !== undefined;
}

function askedUser(
  pod: DeepReadonly<Pod>,
  container: DeepReadonly<Container>,
): { readonly uid: number | undefined; readonly gid: number | undefined } {
  const own = container.securityContext;
  const shared = pod.spec?.securityContext;
  return { uid: own?.runAsUser ?? shared?.runAsUser, gid: own?.runAsGroup ?? shared?.runAsGroup };
}

function userOf(uid: number | undefined, gid: number | undefined, imageUser: string): string {
  if (uid !== undefined) return gid === undefined ? String(uid) : `${uid}:${gid}`;
  if (gid === undefined) return "";
  const [imageUid = ""] = imageUser.split(":");
  if (imageUid !== "" && !/^\d+$/.test(imageUid)) {
    throw new InvalidInputError(`run as group ${gid}: the image's user is "${imageUid}", expected a number: set runAsUser, too`);
  }
  return `${imageUid === "" ? "0" : imageUid}:${gid}`;
}
