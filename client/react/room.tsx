// The component that enters a room and gives it to those inside.
import { createContext, useContext, useEffect, useState, type ReactElement, type ReactNode } from "react";
import { RoomStore, type RoomOptions } from "./room-store.js";

const RoomContext = createContext<RoomStore | null>(null);

/**
 * What `<Room>` takes. The address, `doc` and `awareness` say which room it is: another one is entered when they change.
 * `params` may change at any time and counts from the next connection on; `connect` connects and disconnects. Everything
 * else counts from when the room is entered.
 */
export interface RoomProps extends RoomOptions {
  readonly children?: ReactNode;
}

/**
 * Enters a room when it is mounted, and leaves it when it is unmounted.
 * @throws TypeError, URIError while rendering, when the address cannot be
 */
export function Room({ children, ...options }: RoomProps): ReactElement {
  const [kept, keep] = useState(() => new RoomStore(options));
  let store = kept;
  if (!store.isFor(options)) {
    // React renders this component again at once, before it shows anything: nobody sees a room under the name of another.
    store = new RoomStore(options);
    keep(store);
  }
  useEffect(() => store.update(options));
  useEffect(store.hold, [store]);
  return <RoomContext.Provider value={store}>{children}</RoomContext.Provider>;
}

/** The room that a component is in. @throws Error outside of a `<Room>` */
export function useRoomStore(): RoomStore {
  const store = useContext(RoomContext);
  if (store === null) throw new Error("There is no <Room> around this component.");
  return store;
}
