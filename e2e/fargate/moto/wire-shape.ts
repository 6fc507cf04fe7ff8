/**
 * Shape of a JSON value: members and types, without the values. Empty lists and members that are `null` are left out, because either side
 * may leave them out.
 */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : [mergedShape(value.map(shapeOf))];
  if (value === undefined || value === null) return undefined;
  if (value instanceof Date) return "date";
  if (typeof value !== "object") return typeof value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const shape = shapeOf(member);
    return shape === undefined ? [] : [[name, shape] as const];
  });
  return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Paths of a shape, such as `tasks[].containers[].name: string`. */
export function pathsOf(shape: unknown, path: string = ""): readonly string[] {
  if (Array.isArray(shape)) return shape.flatMap((entry) => pathsOf(entry, `${path}[]`));
  if (typeof shape !== "object" || shape === null) return [`${path}: ${String(shape)}`];
  return Object.entries(shape).flatMap(([name, member]) => pathsOf(member, path === "" ? name : `${path}.${name}`));
}

function mergedShape(shapes: readonly unknown[]): unknown {
  const [first] = shapes;
  if (shapes.every((shape) => typeof shape !== "object" || shape === null || Array.isArray(shape))) return first;
  return Object.assign({}, ...shapes);
}
