import { Refusal } from "../server/refusal.ts";
import type { Handler, Route } from "./route.ts";

/** The matching route's handler, with the path variables. */
export interface RouteMatch {
  readonly handler: Handler;
  readonly params: Readonly<Record<string, string>>;
}

/** Finds the route for a method and a path. */
export class Router {
  readonly #routes: readonly { readonly route: Route; readonly pattern: readonly string[] }[];

  constructor(routes: readonly Route[]) {
    this.#routes = routes.map((route) => ({ route, pattern: route.path.split("/").slice(1) }));
  }

  /**
   * @param segments - decoded segments of the path
   * @throws Refusal 404 if no route has the path, 405 if the route does not have the method
   */
  match(method: string, segments: readonly string[]): RouteMatch {
    const allowed = new Set<string>();
    for (const { route, pattern } of this.#routes) {
      const params = matchPattern(pattern, segments);
      if (!params) continue;
      if (route.methods === "any" || route.methods.includes(method)) return { handler: route.handler, params };
      for (const each of route.methods) allowed.add(each);
    }
    if (allowed.size === 0) throw new Refusal(404, "404: Page Not Found");
    throw new Refusal(405, "405: Method Not Allowed", { headers: { allow: [...allowed].join(", ") } });
  }
}

function matchPattern(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (const [index, part] of pattern.entries()) {
    if (part.endsWith("...}")) {
      params[part.slice(1, -4)] = segments.slice(index).join("/");
      return params;
    }
    const segment = segments[index];
    if (segment === undefined) return undefined;
    if (part.startsWith("{")) params[part.slice(1, -1)] = segment;
    else if (part !== segment) return undefined;
  }
  return pattern.length === segments.length ? params : undefined;
}
