// A part of a snapshot, which is another only when it differs in what it holds: what does not change renders nothing again.
import { equalityDeep } from "lib0/function";
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react";

/** What `useSyncExternalStore` takes, with functions that stay the same. */
export interface Source<Snapshot> {
  readonly subscribe: (listener: () => void) => () => void;
  readonly get: () => Snapshot;
  readonly getServer: () => Snapshot;
}

/** What `select` makes of the source. `select` may be another function each time, and may make new objects. */
export function useSelected<Snapshot, Value>(
  { subscribe, get, getServer }: Source<Snapshot>,
  select: (snapshot: Snapshot) => Value,
): Value {
  const shown = useRef<{ readonly value: Value } | null>(null);
  const [getValue, getServerValue] = useMemo(() => {
    const memoize = (getSnapshot: () => Snapshot) => {
      let last: { readonly snapshot: Snapshot; readonly value: Value } | null = null;
      // React asks more than once, and takes another object for a change.
      return (): Value => {
        const snapshot = getSnapshot();
        if (last?.snapshot === snapshot) return last.value;
        const selected = select(snapshot);
        const before = last ?? shown.current;
        const value = before !== null && equalityDeep(before.value, selected) ? before.value : selected;
        last = { snapshot, value };
        return value;
      };
    };
    return [memoize(get), memoize(getServer)];
  }, [get, getServer, select]);
  const value = useSyncExternalStore(subscribe, getValue, getServerValue);
  useEffect(() => {
    shown.current = { value };
  }, [value]);
  return value;
}
