"""Row and column generation (Algorithm 2 of the paper), with pricing by DCA or by MINLP."""
