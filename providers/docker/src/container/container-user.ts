import type { Container, DeepReadonly, Pod } from "@virtual-kubelet/core";
import { InvalidInputError } from "@virtual-kubelet/errdefs";

/** Whom a container runs as, in the engine's words. */
export interface ContainerUser {
  /** `uid`, `uid:gid` or empty for the image's own. */
  readonly user: string;
  /** Groups besides. */
  readonly groups: readonly string[];
}

/**
 * Whom a container runs as. A user alone keeps the groups that the image gives it; with a group, the engine leaves them out,
 * which is what `supplementalGroupsPolicy: Strict` means.
 *
 * @param imageUser - the image's user; empty is root
 * @throws InvalidInputError if a group is asked for and the image names its user by name, or Strict without user and group
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

/** Whether {@link containerUser} has to know the image's user. */
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
