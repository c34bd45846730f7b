// The editor: CodeMirror on a shared text, with everybody's cursors and an undo that takes back only what
// was written here. y-codemirror.next binds the text; the cursors are our own.
import { defaultKeymap } from "@codemirror/commands";
import { markdown } from "@codemirror/lang-markdown";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { yCollab, yUndoManagerKeymap } from "y-codemirror.next";
import type { Awareness } from "y-protocols/awareness";
import { UndoManager } from "yjs";
import type { Text } from "yjs";
import { cursors } from "./cursors.js";

const markdownStyle = HighlightStyle.define([
  { tag: tags.heading1, fontWeight: "700", fontSize: "1.5em", lineHeight: "1.3" },
  { tag: tags.heading2, fontWeight: "700", fontSize: "1.25em" },
  { tag: tags.heading, fontWeight: "700" },
  { tag: tags.strong, fontWeight: "700" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strikethrough, textDecoration: "line-through" },
  { tag: tags.monospace, fontFamily: "var(--monospace)", fontSize: "0.92em" },
  { tag: [tags.link, tags.url], color: "var(--accent)" },
  { tag: [tags.processingInstruction, tags.meta, tags.quote], color: "var(--quiet)" },
]);

/** Shows the text in `parent` and keeps both the same. */
export function createEditor(parent: HTMLElement, text: Text, awareness: Awareness): EditorView {
  return new EditorView({
    parent,
    doc: text.toJSON(),
    extensions: [
      // No `history()` of CodeMirror: it would take back what others wrote. Tab stays free for moving on.
      yCollab(text, null, { undoManager: new UndoManager(text) }),
      cursors(text, awareness),
      keymap.of([...yUndoManagerKeymap, ...defaultKeymap]),
      markdown({ addKeymap: true, completeHTMLTags: false }),
      syntaxHighlighting(markdownStyle),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": "Shared text", spellcheck: "true" }),
      placeholder("Write something. Everybody who has the link sees it."),
    ],
  });
}
