import type { CallOptions, KubeClient, ListQuery } from "./client.ts";
import type { KubernetesObject } from "./objects.ts";
import { PageTokens } from "./page-tokens.ts";
import type { Resource } from "./resources.ts";

/** Maximum number of objects in one page. Source: client-go `tools/pager`, `defaultPageSize`. */
export const pageSize = 500;

/**
 * Lists all objects, in pages of 500.
 *
 * @throws UnavailableError also if the server's pages form a cycle, or are more than 10,000
 */
export async function listAll<T extends KubernetesObject>(
  client: Pick<KubeClient, "list">,
  resource: Resource<T>,
  query: Omit<ListQuery, "continue" | "limit">,
  options: CallOptions,
): Promise<T[]> {
  const tokens = new PageTokens(`list ${resource.plural}`);
  const objects: T[] = [];
  let next: string | undefined;
  do {
    const page = await client.list(resource, { ...query, limit: pageSize, continue: next }, options);
    objects.push(...page.items);
    tokens.add(page.continue);
    next = page.continue;
  } while (next !== undefined);
  return objects;
}
