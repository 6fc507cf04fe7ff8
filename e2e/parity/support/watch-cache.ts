import type { Api } from "./api.ts";

/**
 * Waits until the server's watch cache has seen all writes so far: what may be of any age, such as a list at version 0,
 * then shows them.
 *
 * @param collection - path of the collection
 */
export async function waitForCache(api: Api, collection: string): Promise<void> {
  const { body } = await api.get(`${collection}?limit=1`);
  await api.get(`${collection}?resourceVersion=${body.metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`);
}
