/** The map's own value of a key. Keys are users' words, and may be those every object inherits, such as `constructor`. */
export function ownValue<T>(map: Readonly<Record<string, T>> | undefined, key: string): T | undefined {
  return map && Object.hasOwn(map, key) ? map[key] : undefined;
}
