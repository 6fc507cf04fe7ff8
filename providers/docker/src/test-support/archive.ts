import { buffer } from "node:stream/consumers";
import { pack, type Header } from "tar-stream";

export type ArchiveEntry = Partial<Header> & { readonly name: string; readonly content?: string };

/** A tar archive of these entries, including some that no tar program would create. */
export async function archiveOf(entries: readonly ArchiveEntry[]): Promise<Buffer> {
  const archive = pack();
  // The stream yields bytes.
  const bytes = buffer(archive as AsyncIterable<Uint8Array> as NodeJS.ReadableStream & AsyncIterable<Uint8Array>);
  for (const { content, ...header } of entries) archive.entry(header, content ?? "");
  archive.finalize();
  return bytes;
}
