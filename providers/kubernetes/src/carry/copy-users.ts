/** Which pods use which far objects, by UID of the home pod and key of the object. */
export class CopyUsers {
  readonly #keysOf = new Map<string, Set<string>>();
  readonly #usersOf = new Map<string, Set<string>>();

  /** Adds to what a pod uses. */
  add(uid: string, keys: Iterable<string>): void {
    const own = getOrInsert(this.#keysOf, uid);
    for (const key of keys) {
      own.add(key);
      getOrInsert(this.#usersOf, key).add(uid);
    }
  }

  /** Removes a pod. @returns the objects that nobody uses any more */
  remove(uid: string): readonly string[] {
    const keys = [...(this.#keysOf.get(uid) ?? [])];
    this.#keysOf.delete(uid);
    return keys.filter((key) => {
      const users = this.#usersOf.get(key);
      users?.delete(uid);
      if (users?.size) return false;
      this.#usersOf.delete(key);
      return true;
    });
  }

  isUsed(key: string): boolean {
    return this.#usersOf.has(key);
  }

  /** UIDs of the pods that use an object. */
  usersOf(key: string): Iterable<string> {
    return this.#usersOf.get(key) ?? [];
  }

  /** What a pod uses. */
  keysOf(uid: string): Iterable<string> {
    return this.#keysOf.get(uid) ?? [];
  }
}

function getOrInsert(map: Map<string, Set<string>>, key: string): Set<string> {
  const found = map.get(key) ?? new Set<string>();
  map.set(key, found);
  return found;
}
