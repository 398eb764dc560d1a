// Browsers start no worker from a file on disk. Where the site is opened from a folder, its search runs in a hidden
// frame instead, which answers to the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      const page = inner.document;
      page.open();
      page.write("<!doctype html><title>search</title><body></body>");
      page.close();
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      inner.importScripts = (...urls) =>
        Promise.all(urls.map((each) => new Promise((done) => {
          const script = page.createElement("script");
          script.src = new URL(each, url);
          script.onload = done;
          page.body.append(script);
        })));
      const script = page.createElement("script");
      script.src = url;
      script.onload = () => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.send(data));
      };
      page.body.append(script);
    }
    send(data) {
      const inner = this.frame.contentWindow;
      inner.dispatchEvent(new inner.MessageEvent("message", { data }));
    }
    postMessage(data) {
      if (this.ready) this.send(data);
      else this.waiting.push(data);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
