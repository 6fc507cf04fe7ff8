const block = /<pre><code class="mermaid">([\s\S]*?)<\/code>(?:<button[\s\S]*?<\/button>)?<\/pre>/g;

function unescaped(html: string): string {
  return html.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&amp;", "&");
}

/**
 * Replaces Mermaid code of a page by pictures in the page's own colors. The code stays below the picture, folded, for readers who cannot see it.
 *
 * @param draw - Mermaid's text ▶ SVG
 */
export function drawDiagrams(html: string, draw: (text: string) => string): string {
  return html.replace(block, (_, code: string) => {
    const svg = draw(unescaped(code))
      // The pages load nothing from other hosts.
      .replace(/@import url\([^)]*\);/g, "")
      .replace(/style="--bg:[^"]*"/, 'style="--bg:var(--color-background);--fg:var(--color-text)" role="img" aria-label="Diagram"');
    return `<figure class="diagram">${svg}<details><summary>The diagram as text</summary><pre><code>${code}</code></pre></details></figure>`;
  });
}
